# mcp.mk - the fixture of the MCP tests, a program of its own; included by the Makefile behind unit.mk, whose rule compiles it.
MCP_FIXTURE := $(BUILD)/mcp-fixture
MCP_FIXTURE_OBJ := $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(wildcard tests/mcp/fixture/*.c))

$(MCP_FIXTURE): $(MCP_FIXTURE_OBJ) $(UNIT_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(UNIT_LIBS)
-include $(wildcard $(BUILD)/tests/mcp/fixture/*.d)
