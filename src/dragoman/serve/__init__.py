"""The service: HTTP, the playground page, MCP."""
