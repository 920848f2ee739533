// Runs a loop around the client of the official Go SDK with default settings.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "trips", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Getenv("MCP_URL")}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		log.Fatal(err)
	}
	Play(func(call Call) (any, error) {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.Name, Arguments: call.Args})
		if err != nil {
			return nil, err
		}
		if result.IsError {
			return nil, fmt.Errorf("tool error")
		}
		return result.Content, nil
	})
	session.Close()
}
