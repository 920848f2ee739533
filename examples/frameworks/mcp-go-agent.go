// Runs a loop around the mcp-go client with default settings.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

func main() {
	ctx := context.Background()
	c, err := client.NewStreamableHttpClient(os.Getenv("MCP_URL"))
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Start(ctx); err != nil {
		log.Fatal(err)
	}
	first := mcp.InitializeRequest{}
	first.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	first.Params.ClientInfo = mcp.Implementation{Name: "trips", Version: "1"}
	if _, err := c.Initialize(ctx, first); err != nil {
		log.Fatal(err)
	}
	if _, err := c.ListTools(ctx, mcp.ListToolsRequest{}); err != nil {
		log.Fatal(err)
	}
	Play(func(call Call) (any, error) {
		asked := mcp.CallToolRequest{}
		asked.Params.Name, asked.Params.Arguments = call.Name, call.Args
		result, err := c.CallTool(ctx, asked)
		if err != nil {
			return nil, err
		}
		if result.IsError {
			return nil, fmt.Errorf("tool error")
		}
		return result.Content, nil
	})
	c.Close()
}
