# egress.mk - the driver of the tests of acpd-proxy (tests/integration/egress); included by the Makefile, which defines BUILD and the flags.
EGRESS_DRIVER := $(if $(HAVE_CARES),$(BUILD)/tests/egress/driver)
EGRESS_SRC := $(call sources,daemon/base daemon/confine daemon/digest daemon/egress daemon/json daemon/loop daemon/proc)
$(BUILD)/tests/egress/driver: $(BUILD)/tests/egress/driver.o $(EGRESS_SRC:%.c=$(BUILD)/obj/%.o)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
-include $(wildcard $(BUILD)/tests/egress/*.d)
