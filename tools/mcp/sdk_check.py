"""tools/mcp/sdk_check.py PROGRAM TRACE - calls `vramscope mcp` with the protocol's Python SDK (`pip install mcp`)."""
import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, TRACE = sys.argv[1:3]
CALLS = [
    ("peak", {"trace": TRACE}, False),
    ("holders", {"trace": TRACE, "top": 2}, False),
    ("why_alive", {"trace": TRACE, "block": 1}, False),
    ("diff", {"a": TRACE, "b": TRACE, "by": "category"}, False),
    ("whatif", {"trace": TRACE, "set": {"batch": 2}}, False),
    ("advise", {"trace": TRACE}, False),
    ("query", {"trace": TRACE, "sql": "select kind, count(*) from event group by kind"}, False),
    ("query", {"trace": TRACE, "sql": "drop table meta"}, True),
    ("peak", {"trace": "/nowhere.db"}, True),
]


def plain(result):
    """A result as the protocol names its members, in every version of the SDK."""
    return result.model_dump(by_alias=True)


async def main():
    async with stdio_client(StdioServerParameters(command=PROGRAM, args=["mcp"])) as (read, write):
        async with ClientSession(read, write) as session:
            said = plain(await session.initialize())
            print("protocol %s, server %s" % (said["protocolVersion"], said["serverInfo"]["name"]))
            names = {tool.name for tool in (await session.list_tools()).tools}
            if names != {name for name, _, _ in CALLS}:
                sys.exit("tools are %s" % sorted(names))
            await session.send_ping()
            for name, arguments, is_error in CALLS:
                result = plain(await session.call_tool(name, arguments))
                text = result["content"][0]["text"]
                if result["isError"] != is_error:
                    sys.exit("%s %s: %s" % (name, arguments, text))
                if not is_error and not result["structuredContent"]:
                    sys.exit("%s %s: no structured content" % (name, arguments))
                print("%-9s %6d bytes%s" % (name, len(text), "  an error" if is_error else ""))
            try:
                await session.call_tool("nothing", {})
            except Exception as e:
                print("an unknown tool is an error: %s" % e)
            else:
                sys.exit("an unknown tool is accepted")


asyncio.run(asyncio.wait_for(main(), 300))
