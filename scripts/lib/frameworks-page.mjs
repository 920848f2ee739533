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

Compare how LangChain, OpenAI Agents, Pydantic AI and other agent frameworks, with default settings, handle a single failed MCP tool call. \`squall sweep\` measured each table cell with a scripted model. [Results](#results) explains the cells, and [Find single points of failure](../guides/sweep.md#calls-and-cells) explains the faults.

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
| \`…, then error\`    | The next call, which had no fault, also failed: the client was unusable.                            |
| \`…, then run ends\` | The next call, which had no fault, ended the run.                                             |
| \`run ends\`         | An exception ended the run, and the model never saw the error.                                    |
| \`waits\`            | Nothing ended the call within 90 s.                                                           |
| \`repeated\`         | The framework retried; the model did not request the retry.                                         |
| \`executed twice\`   | The framework retried, and the server executed a write twice.                                              |
| \`not applicable\`   | The fault cannot act, because the client has no session.                                              |

The faults \`empty\`, \`falsified\` and \`drift\` change the result. Frameworks can detect \`drift\` and \`empty\` only by validating the result against the tool's \`outputSchema\`, and cannot detect \`falsified\`. \`drift\` changes only \`structuredContent\`, so a model that reads the text content gets the correct result (\`ok\`).

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

The protocol version is the version of the tool calls. The first value is for the server with sessions (2025-11-25). A second value, if present, is for the server without sessions (2026-07-28).

## Measurement method

Each framework has a program of at most 60 lines in [\`examples/frameworks\`](../../examples/frameworks), which uses the framework's defaults. The program books a trip with three calls: \`search_trips\`, \`book_trip\` and \`get_booking\`.

The model is the same script for all frameworks. The script requests each call once, in this order, and continues after a result or an error. It never retries and never gives up, so the framework causes all retries, early ends and waits. The TypeScript SDK, the FastMCP client and the Go clients have no agent; for these, a loop passes the result or exception of each call to the model.

1. The agent runs once against the server through \`squall run --tape\`. Its three results must be correct.
2. \`squall sweep\` runs the agent once for each fault at \`book_trip\`, with a timeout of 90 s per run.
3. Each table cell states what the model got from \`book_trip\` and, if that was not the correct result, from \`get_booking\`.

The measurements used Node 20.20, Python 3.11 and Go 1.26. To repeat them from a clone, install Python 3.10, Node 20.19 and, for the Go clients, Go:

\`\`\`sh
npm ci && npm run build
node scripts/frameworks.mjs langchain
npm run generate
\`\`\`

Without a name, the script measures all frameworks. The script installs the package versions of \`examples/frameworks/frameworks.json\` in \`build/frameworks\`. A nightly test repeats the measurement for the five frameworks with \`isPinned\` (\`--check --pinned\`). If table cells change, the test fails and names them.
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
