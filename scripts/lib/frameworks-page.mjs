import { readFile } from 'node:fs/promises'
import { table } from './markdown.mjs'

const EXAMPLES = new URL('../../examples/frameworks/', import.meta.url)
const FAULTS = [
  'error',
  'timeout',
  'rateLimit',
  'session',
  'cut',
  'lost',
  'empty',
  'falsified',
  'drift',
  'late',
]
const SERVERS = {
  sessions: 'Server with sessions',
  stateless: 'Server without sessions',
}

async function read(name) {
  return JSON.parse(await readFile(new URL(name, EXAMPLES), 'utf8'))
}

/** Returns the page about faults that agent frameworks survive, from stored measurements. */
export async function frameworksPage() {
  const results = await read('results.json')
  const all = (await read('frameworks.json')).filter(({ id }) => results[id] !== undefined)
  return `<!-- Generated from examples/frameworks/results.json: npm run generate -->

# How agent frameworks handle failed tool calls

Compare how LangChain, OpenAI Agents, Pydantic AI and other agent frameworks, with default settings, handle a single failed MCP tool call: which pass the error to the model, retry, wait or end the run. \`squall sweep\` measured each table cell with a scripted model. [Results](#results) explains the cells, and [Find single points of failure](../guides/sweep.md#faults) explains the faults in the column headings.

${Object.entries(SERVERS)
  .map(([server, title]) => section(server, title, all, results))
  .join('\n\n')}

## Results

| cell                 | meaning                                                                                      |
| -------------------- | -------------------------------------------------------------------------------------------- |
| \`ok\`               | The model got the correct result.                                                               |
| \`changed\`          | The model got the changed result, and no error occurred.                             |
| \`error\`            | The model got an error, and the next call succeeded.                                          |
| \`error after 60 s\` | The same as \`error\`, after a timeout of 60 s.                                                                |
| \`…, then error\`    | The next call, which had no fault of its own, also failed: the client was unusable.                            |
| \`…, then run ends\` | The next call, which had no fault, ended the run.                                             |
| \`run ends\`         | An exception ended the run, and the model never saw the error.                                    |
| \`waits\`            | Nothing ended the call within the 90 s of the run.                                                           |
| \`repeated\`         | The framework retried; the model did not request the retry.                                         |
| \`executed twice\`   | The framework retried, and the server executed a write twice.                                              |
| \`not applicable\`   | The fault cannot be injected, because the client has no session.                                              |

The faults \`empty\`, \`falsified\` and \`drift\` change the result. Frameworks can detect \`drift\` only by validating the result against the tool's \`outputSchema\`. This validation does not detect \`falsified\`. It does not detect \`empty\` either, because the schemas of this server allow empty strings. \`drift\` changes a field in \`structuredContent\` and in the JSON text alike; \`ok\` means that the text still contains all values.

## Versions

${table(
  ['Framework', 'Packages', 'Protocol version', 'Measured'],
  all.map(({ id, packages, ...framework }) => {
    const { date, ...found } = results[id]
    const versions = [
      ...new Set(Object.keys(SERVERS).flatMap((each) => found[each]?.protocol ?? [])),
    ]
    const names = packages.map((each) => `\`${each}\``).join(', ')
    return [nameOf(framework), names, versions.join(', '), date]
  }),
)}

_Protocol version_ is the MCP version that the client used for tool calls. If there are two, the first is for the server with sessions and the second for the server without sessions.

## Measurement method

For each framework, [\`examples/frameworks\`](../../examples/frameworks) contains a program of at most 60 lines with the framework's default settings. The program books a trip with three calls: \`search_trips\`, \`book_trip\` and \`get_booking\`.

The model is the same script for all frameworks. The script requests each call once, in this order, and continues after a result or an error. It never retries and never gives up, so every retry, early end or wait comes from the framework. The TypeScript SDK, the FastMCP client and the Go clients have no agent; for these, a loop passes the result or exception of each call to the model.

1. The agent runs once against the server through \`squall run --tape\`. Its three results must be correct.
2. \`squall sweep\` runs the agent once for each fault at \`book_trip\`, with a timeout of 90 s per run.
3. Each table cell states what the model got from \`book_trip\`, and what it got from \`get_booking\` if that call did not return the correct result.

The measurements used Node 20.20, Python 3.11 and Go 1.26. To repeat them from a clone, install Node 20.19 or newer, Python 3.10 or newer and, for the Go clients, Go. For example, for LangChain:

\`\`\`sh
npm ci && npm run build
node scripts/frameworks.mjs langchain
npm run generate
\`\`\`

Without a name, the script measures all frameworks. The script installs the package versions listed in \`examples/frameworks/frameworks.json\` into \`build/frameworks\`. A nightly test repeats the measurement for the frameworks marked \`isPinned\` (like \`--check --pinned\`), and fails with a list of the table cells that changed.
`
}

function section(server, title, all, results) {
  const measured = all.filter(({ id }) => results[id][server] !== undefined)
  const head = ['Framework', ...FAULTS.map((fault) => `\`${fault}\``)]
  const rows = measured.map(({ id, ...framework }) => {
    const cells = results[id][server]
    return [nameOf(framework), ...FAULTS.map((fault) => cells[fault] ?? 'not measured')]
  })
  return `## ${title}\n\n${table(head, rows)}`
}

function nameOf({ name, language }) {
  return name.includes('SDK v2') || language === 'Go' ? name : `${name} (${language})`
}
