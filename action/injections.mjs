// Prints what a sidecar injected, and its errors by origin, as Markdown: node injections.mjs HOST:PORT
const [address] = process.argv.slice(2)

const ask = async (path) => (await fetch(`http://${address}${path}`)).json()

const cell = (value) =>
  String(value ?? '')
    .replaceAll(/[\\|<>`*_[\]]/g, String.raw`\$&`)
    .replaceAll(/\s+/g, ' ')

function table(head, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

const { rules = [] } = await ask('/api/rules')
const { errors } = await ask('/api/errors')
const injected = rules.map(({ name, faults, counts }) => [
  name,
  faults.join(', '),
  counts.matched ?? 0,
  counts.injected ?? 0,
])
const kinds = errors.map(({ tool, method, outcome, status, code, origin, count }) => [
  tool ?? method,
  [outcome, status ?? code].filter((part) => part !== undefined).join(' '),
  origin,
  count,
])
const parts = [
  '## Injected faults',
  rules.length > 0
    ? table(['rule', 'faults', 'matched calls', 'injected'], injected)
    : 'No rules were active.',
  '## Errors of calls',
  kinds.length > 0 ? table(['tool', 'error', 'origin', 'calls'], kinds) : 'No call failed.',
]
process.stdout.write(`\n${parts.join('\n\n')}\n`)
