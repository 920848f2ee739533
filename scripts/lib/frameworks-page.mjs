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
  sessions: 'A server with sessions',
  stateless: 'A server without sessions',
}

async function read(name) {
  return JSON.parse(await readFile(new URL(name, EXAMPLES), 'utf8'))
}

/** The page of what agent frameworks survive, from stored measurements. */
export async function frameworksPage() {
  const results = await read('results.json')
  const all = (await read('frameworks.json')).filter(({ id }) => results[id] !== undefined)
  return `<!-- Generated from examples/frameworks/results.json: npm run generate -->

# Agent frameworks

See what a single failed tool call does to an agent of each framework with default settings. \`squall sweep\` measured each cell, with a scripted model.

${Object.entries(SERVERS)
  .map(([server, title]) => section(server, title, all, results))
  .join('\n\n')}

| cell                 | meaning                                                                                      |
| -------------------- | -------------------------------------------------------------------------------------------- |
| \`ok\`               | The model got the right result.                                                               |
| \`changed\`          | The model got the changed result, and nothing noticed it.                             |
| \`error\`            | The model got an error, and the next call succeeded.                                          |
| \`error after 60 s\` | The same, after a timeout.                                                                 |
| \`…, then error\`    | The next call, without a fault, also failed: the client is unusable.                            |
| \`…, then run ends\` | The next call, without a fault, ended the run.                                             |
| \`run ends\`         | An exception ended the run, and the model never saw the error.                                    |
| \`waits\`            | Nothing ended the call within 90 s.                                                           |
| \`repeated\`         | The framework retried, without the model.                                         |
| \`executed twice\`   | The same, and the server executed a write twice.                                              |
| \`not applicable\`   | The fault cannot act: the client has no session.                                              |

[Sweep](../guides/sweep.md#calls-and-cells) explains the faults. \`empty\`, \`falsified\` and \`drift\` change the result: only a check of the tool's \`outputSchema\` can notice \`drift\` and \`empty\`, and nothing in a framework can notice \`falsified\`. \`drift\` changes \`structuredContent\` alone: the model of a client that reads the texts of a result gets the right one (\`ok\`).

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

The protocol version is that of tool calls, with the server with sessions (2025-11-25), then, if it differs, with the one without (2026-07-28).

## How it is measured

Each framework has a program of at most 60 lines in [\`examples/frameworks\`](../../examples/frameworks), with the defaults of the framework. It books a trip by three calls: \`search_trips\`, \`book_trip\`, \`get_booking\`.

The model is a script, the same for all, which requests the three calls in this order, once each. After a result or an error, it continues with the next call; it never retries and never gives up. Retries, early ends and waits are therefore the framework's. The TypeScript SDK, the FastMCP client and the Go clients have no agent; a loop gives the model what a call returns or throws.

1. The agent works once through \`squall run --tape\` with the server, and its three results must be correct.
2. \`squall sweep\` runs it once for each fault at \`book_trip\`, with a timeout of 90 s per run.
3. A cell says what the model read of \`book_trip\`; then, where it is not right, what it read of \`get_booking\`.

The cells were measured with Node 20.20, Python 3.11 and Go 1.26. Repeat it from a clone, with Python 3.10, Node 20.19, and Go for its clients:

\`\`\`sh
npm ci && npm run build
node scripts/frameworks.mjs langchain
npm run generate
\`\`\`

Without a name, all are measured. Packages are installed in \`build/frameworks\`, in the versions of \`examples/frameworks/frameworks.json\`. A nightly test measures the five with \`isPinned\` again (\`--check --pinned\`), and fails with the name of each cell that has changed.
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
