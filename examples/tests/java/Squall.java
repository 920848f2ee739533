import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Runs a sidecar: {@code url} replaces the server's URL, {@link #setRules} sets the rules. Requires Squall on
 * PATH (or its command in SQUALL, such as "npx mcp-squall"), and only the JDK, 17 or newer. Use it in
 * try-with-resources, or in the extension of a test framework.
 */
public final class Squall implements AutoCloseable {
  /** The URL for the client under test. */
  public final String url;

  private final String admin;
  private final Path rules;
  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();

  /** Starts Squall in front of an MCP server, such as {@code http://127.0.0.1:3000/mcp}. */
  public Squall(String upstream) throws IOException {
    var server = URI.create(upstream);
    rules = Files.createTempDirectory("squall-").resolve("rules.yaml");
    Files.writeString(rules, "rules: []\n");
    var command = System.getenv().getOrDefault("SQUALL", "squall");
    var words = new ArrayList<>(List.of(command.split(" +")));
    words.addAll(List.of("run", "--upstream", server.getScheme() + "://" + server.getAuthority()));
    words.addAll(List.of("--rules", rules.toString(), "--guard-error-rate", "off"));
    words.addAll(List.of("--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"));
    process = new ProcessBuilder(words).redirectErrorStream(true).start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
    var log = process.inputReader();
    var lines = new ArrayList<String>();
    var listening = address(log, lines, "listening");
    var adminListening = address(log, lines, "admin listening");
    url = "http://" + listening + server.getRawPath();
    admin = "http://" + adminListening;
    var reader = new Thread(() -> drain(process.getInputStream()));
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * Replaces all rules with the text of a rules file, and returns when they are active. Unchanged rules keep
   * their counts.
   */
  public void setRules(String text) throws Exception {
    var data = text.getBytes();
    var digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
    var written = rules.resolveSibling("rules.new");
    Files.write(written, data);
    Files.move(written, rules, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    for (long end = System.nanoTime() + 30_000_000_000L; System.nanoTime() < end; Thread.sleep(20)) {
      var state = read("/api/state");
      if (state.contains("\"lastReload\":{\"result\":\"applied\",\"digest\":\"" + digest)) return;
      if (state.contains("\"lastReload\":{\"result\":\"rejected\",\"digest\":\"" + digest)) {
        throw new IllegalArgumentException("Squall rejected the rules: " + state);
      }
    }
    throw new IllegalStateException("Squall did not read the rules");
  }

  /** Returns the last 200 injected faults, the newest first, with their string fields. */
  public List<Map<String, String>> faults() throws Exception {
    var objects = Pattern.compile("\\{(\"at\"[^{}]*)\\}").matcher(read("/api/injections"));
    var field = Pattern.compile("\"(\\w+)\":\"([^\"]*)\"");
    return objects
        .results()
        .map(object -> {
          var fields = new java.util.HashMap<String, String>();
          field.matcher(object.group(1)).results().forEach(f -> fields.put(f.group(1), f.group(2)));
          return (Map<String, String>) fields;
        })
        .toList();
  }

  @Override
  public void close() {
    process.destroy();
    process.onExit().join();
  }

  private String read(String path) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(URI.create(admin + path)).build();
    return http.send(request, BodyHandlers.ofString()).body();
  }

  private static void drain(InputStream log) {
    try (log) {
      log.transferTo(OutputStream.nullOutputStream());
    } catch (IOException ended) {
      // The process has ended.
    }
  }

  /** Reads the log until a message, and returns the address in the message. */
  private static String address(BufferedReader log, List<String> lines, String message) {
    var pattern = Pattern.compile("\"address\":\"([^\"]+)\".*\"msg\":\"" + message + "\"");
    try {
      for (String line; (line = log.readLine()) != null; lines.add(line)) {
        var found = pattern.matcher(line);
        if (found.find()) return found.group(1);
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    throw new IllegalStateException("Squall did not start:\n" + String.join("\n", lines));
  }
}
