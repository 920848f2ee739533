import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

/** Tests retries under faults, without a framework. Set MCP_URL to the URL of your MCP server. */
public final class RetryTest {
  private static final String DOWN =
      """
      rules:
        - name: down
          match: { tool: search_docs }
          times: 2
          faults: [abort: { status: 503 }]
      """;

  public static void main(String[] args) throws Exception {
    var server = System.getenv().getOrDefault("MCP_URL", "http://127.0.0.1:3000/mcp");
    try (var squall = new Squall(server)) {
      squall.setRules(DOWN);
      expect(200, callTool(squall.url, "search_docs", 3), "a call is made again after a 503", squall);
      expect(2, squall.faults().size(), "two faults were injected", squall);
      expect("search_docs", squall.faults().get(0).get("tool"), "into the tool", squall);

      squall.setRules("rules: []");
      squall.setRules(DOWN);
      expect(503, callTool(squall.url, "search_docs", 2), "after two failures the call fails", squall);
    }
  }

  /** Replace with the code under test. */
  private static int callTool(String url, String name, int tries) throws Exception {
    var call =
        """
        {"jsonrpc":"2.0","id":1,"method":"tools/call",
         "params":{"name":"%s","arguments":{"query":"refunds"}}}"""
            .formatted(name);
    var request =
        HttpRequest.newBuilder(URI.create(url))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .POST(BodyPublishers.ofString(call))
            .build();
    var status = 0;
    for (var left = tries; left > 0 && status != 200; left--) {
      status = HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
    }
    return status;
  }

  private static void expect(Object expected, Object found, String what, Squall squall) throws Exception {
    if (!expected.equals(found)) {
      throw new AssertionError(
          what + ": expected " + expected + ", found " + found + "; injected: " + squall.faults());
    }
    System.out.println("passed: " + what);
  }
}
