# mcp.mk - the fixture of the MCP tests, a program of its own; included by the Makefile behind unit.mk, whose rule compiles it.
MCP_FIXTURE := $(BUILD)/mcp-fixture
MCP_FIXTURE_OBJ := $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(wildcard tests/mcp/fixture/*.c))
# What it is made of besides: the middle of the MCP side and what that stands on.
MCP_FIXTURE_PARTS := $(filter $(foreach part,tools/mcp/% $(addsuffix /%,$(addprefix daemon/,base json loop digest rpc)) daemon/proc/output/lines.o,\
	$(BUILD)/obj/$(part)),$(OBJS))

$(MCP_FIXTURE): $(MCP_FIXTURE_OBJ) $(MCP_FIXTURE_PARTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -pthread
-include $(wildcard $(BUILD)/tests/mcp/fixture/*.d)
