// Measures the cost of planning a call, by number of rules.
// Needs a build: node bench/planning.mjs [directory of modules]
import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'

const modules = pathToFileURL(
  `${resolve(process.argv[2] ?? new URL('../build/js', import.meta.url).pathname)}/`,
)
const { compileRules } = await import(new URL('src/rules/match/compile.js', modules).href)
const { planCall, finishPlan } = await import(new URL('src/rules/select/plan.js', modules).href)
const { RuleStates } = await import(new URL('src/rules/select/rule-states.js', modules).href)

const COUNTS = [1, 100, 1000]
const CALLS = 200_000
const ROUNDS = 25
const faults = [{ fault: 'abort', config: { toolError: 'injected', at: 'request' } }]

// Each kind of file has, whatever its size, the one rule that the matched call matches: its first.
const kinds = {
  'exact tool names': (i) => ({ tool: `tool_${i}` }),
  'lists of tool names': (i) => ({ tool: [`tool_${i}`, `other_${i}`] }),
  'globs by prefix': (i) => ({ tool: `tool_${i}_*` }),
  'globs by suffix': (i) => ({ tool: `*_${i}_x` }),
  expressions: (i) => ({ tool: { regex: `^tool_${i}_` } }),
  'one header, many values': (i) => ({ headers: { 'x-chaos-run': `run-${i}` } }),
  'one tool, many header values': (i) => ({
    tool: 'tool_0',
    headers: { 'x-chaos-run': `run-${i}` },
  }),
  'any of two tools': (i) => ({ any: [{ tool: `tool_${i}` }, { tool: `other_${i}` }] }),
}
const headers = [
  'Host',
  'a',
  'Content-Type',
  'application/json',
  'Accept',
  'application/json',
  'Mcp-Session-Id',
  's',
  'X-Chaos-Run',
  'run-0',
]
const names = {
  'globs by prefix': 'tool_0_x',
  'globs by suffix': 'tool_0_x',
  expressions: 'tool_0_x',
}

function facts(name, lines) {
  return {
    call: {
      id: 1,
      method: 'tools/call',
      name,
      params: { name, arguments: { q: 'x' } },
      transport: 'streamable-http',
      protocolVersion: '2025-06-18',
      progressToken: undefined,
    },
    headers: lines,
    session: 's',
    client: undefined,
    http: { method: 'POST', path: '/mcp' },
  }
}

function build(kind, count) {
  const rules = Array.from({ length: count }, (_, i) => ({
    name: `rule-${i}`,
    match: kinds[kind](i),
    percent: 50,
    faults,
  }))
  const ruleSet = compileRules({ seed: 42, rules })
  const states = new RuleStates()
  states.adopt(ruleSet, 0)
  const matched = facts(names[kind] ?? 'tool_0', headers)
  // As many as a server has tools, so that a call is not always the one before.
  const unmatched = Array.from({ length: 16 }, (_, i) =>
    facts(`unknown_${i}`, [...headers.slice(0, -1), 'none']),
  )
  return { ruleSet, states, matched, unmatched }
}

const clock = () => 0
const nanosecondsSince = (began) => (performance.now() - began) * 1e6

function timeUnmatched({ ruleSet, states, unmatched }) {
  const began = performance.now()
  let hits = 0
  for (let i = 0; i < CALLS; i++)
    if (planCall(ruleSet, unmatched[i & 15], states, clock) !== undefined) hits++
  if (hits > 0) throw new Error('a call was hit that no rule means')
  return nanosecondsSince(began) / CALLS
}

function timeMatched({ ruleSet, states, matched }) {
  const began = performance.now()
  let hits = 0
  for (let i = 0; i < CALLS; i++) {
    const plan = planCall(ruleSet, matched, states, clock)
    if (plan !== undefined) {
      hits++
      finishPlan(plan)
    }
  }
  if (Math.abs(hits / CALLS - 0.5) > 0.01) throw new Error(`${hits} of ${CALLS} calls were hit`)
  return nanosecondsSince(began) / CALLS
}

/** Bytes that one call leaves behind on the heap. */
function allocated({ ruleSet, states, unmatched }) {
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < CALLS; i++) planCall(ruleSet, unmatched[i & 15], states, clock)
  return Math.max(0, process.memoryUsage().heapUsed - before) / CALLS
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]
const cell = (value) => value.toFixed(0).padStart(6)

for (const kind of Object.keys(kinds)) {
  const file = build(kind, 1000)
  timeUnmatched(file)
  const bytes = median(Array.from({ length: 5 }, () => allocated(file)))
  process.stdout.write(
    `${`unmatched, ${kind}`.padEnd(42)}${bytes.toFixed(1)} bytes allocated per call\n`,
  )
}
process.stdout.write('\n')
process.stdout.write(
  `ns per call, median of ${ROUNDS} rounds; ratio 1,000 rules : 1 rule, median of the rounds' own\n\n`,
)
process.stdout.write(
  `${''.padEnd(42)}${COUNTS.map((n) => String(n).padStart(6)).join('')}  ratio\n`,
)
for (const [what, time] of Object.entries({ unmatched: timeUnmatched, matched: timeMatched })) {
  for (const kind of Object.keys(kinds)) {
    const files = COUNTS.map((count) => build(kind, count))
    for (const file of files) time(file)
    const rounds = Array.from({ length: ROUNDS }, () => files.map((file) => time(file)))
    const medians = COUNTS.map((_, i) => median(rounds.map((round) => round[i])))
    const ratio = median(rounds.map((round) => round.at(-1) / round[0]))
    process.stdout.write(
      `${`${what}, ${kind}`.padEnd(42)}${medians.map(cell).join('')}  ${ratio.toFixed(2)}\n`,
    )
  }
}
