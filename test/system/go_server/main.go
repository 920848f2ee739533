// An MCP server of the official Go SDK on a free port of loopback: each tool says that it ran.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	for _, name := range []string{"pay", "look", "5"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(_ context.Context, request *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
			text := &mcp.TextContent{Text: "ran:" + request.Params.Name + ";"}
			return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true},
	)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, handler))
}
