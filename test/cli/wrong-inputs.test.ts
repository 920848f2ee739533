import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { UsageError } from '../../src/base/flags/usage-error.ts'
import { sentence } from '../../src/rules/file/problem.ts'
import { faultText, rejected, ruleText } from '../rules/rules-text.ts'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { startProgram } from '../support/commands.ts'

/** Command lines of newcomers, and the part of the answer that is the right form. */
const LINES: readonly (readonly [line: string, form: string | RegExp])[] = [
  ['start', 'did you mean run?'],
  ['serve', 'did you mean run?'],
  ['proxy', 'did you mean run?'],
  ['up', 'did you mean run?'],
  ['lint', 'did you mean validate?'],
  ['verify', 'did you mean validate?'],
  ['doctor', 'did you mean check?'],
  ['diagnose', 'did you mean check?'],
  ['toxic', 'did you mean fault add?'],
  ['inject-fault', 'did you mean fault add?'],
  ['quickstart', 'did you mean try?'],
  ['bench', 'did you mean load?'],
  ['logs', 'did you mean tap?'],
  ['dashboard', 'did you mean top?'],
  ['valdate', 'did you mean validate?'],
  ['exprement run', 'did you mean experiment?'],
  ['fault ad', 'did you mean add?'],
  ['fault delete', 'did you mean fault remove?'],
  ['fault rm', 'did you mean fault remove?'],
  ['experiment sho', 'did you mean show?'],
  ['arm', 'did you mean resume?'],
  ['disarm 127.0.0.1:15390', 'did you mean stop?'],
  ['stop 127.0.0.1:15390', 'use -t 127.0.0.1:15390 for a sidecar'],
  ['stop -t 127.0.0.1:15390 -n shop', 'use -t for sidecars by their admin ports, or -n'],
  ['hook', 'did you mean mcp hook?'],
  ['approve 3f9c1a07be', 'did you mean mcp approve?'],
  ['policy trust', 'did you mean mcp policy?'],
  ['report html a.json', 'did you mean load report, or load merge?'],
  ['uninject -f a.yaml', 'did you mean inject --undo?'],
  ['detach pod', 'did you mean attach --undo?'],
  ['run --port 8080', '--listen 127.0.0.1:15300'],
  ['run --url http://a', 'did you mean --upstream?'],
  ['run --target http://a', 'did you mean --upstream?'],
  ['run --config a.yaml', 'did you mean --rules?'],
  ['run --rule a.yaml', 'did you mean --rules?'],
  ['run --upstrem http://a', 'did you mean --upstream?'],
  ['run --admin-port 9000', '--admin 127.0.0.1:15390'],
  ['run --verbose', '--log-level debug'],
  ['run --upstream localhost', /write|such as|http:\/\//],
  ['run --drain-timeout 5', 'use a number with a unit'],
  ['run --max-body 4M', 'such as 1024, 64KiB or 4MB'],
  ['run --log-level verbose', 'use one of'],
  ['run --listen 127.0.0.1:99999', /port/],
  ['run rules', 'did you mean --rules?'],
  ['load --url http://a/mcp', 'did you mean --target?'],
  ['load --rps 50', '--rate 50/s'],
  ['load --qps 50', '--rate 50/s'],
  ['load --vus 10', 'did you mean --clients?'],
  ['load --users 10', 'did you mean --clients?'],
  ['load --concurrency 10', 'did you mean --clients?'],
  ['load --iterations 10', 'did you mean --task-count?'],
  ['load --requests 10', 'did you mean --task-count?'],
  ['load --hold 10', 'did you mean --open-streams?'],
  ['load --threshold p99<1s', 'did you mean --slo?'],
  ['load --time 30s', 'did you mean --duration?'],
  ['load', 'http://localhost:3000/mcp'],
  ['load --target localhost:3000', 'http://localhost:3000/mcp'],
  ['load --target http://a/mcp --duration 30', 'such as 300ms, 1.5s, 10m, 1h or 2d'],
  ['load --target http://a/mcp --rate fast', /use calls per second/],
  ['fault add', /--delay 2s|--admin-token-file|SQUALL_ADMIN_TOKEN/],
  ['fault add --latency 2s', 'did you mean --delay?'],
  ['fault add --status 503', 'did you mean --abort?'],
  ['fault add --error 503', 'did you mean --abort?'],
  ['fault add --duration 30s', 'did you mean --for?'],
  ['fault add --rate 30', 'did you mean --percent?'],
  ['fault add --admin 127.0.0.1:1', 'did you mean --sidecar?'],
  ['fault add delay', 'did you mean --delay?'],
  ['fault add reset', 'use --fault reset for a fault'],
  ['explain search_docs', 'squall explain rules.yaml --tool search_docs'],
  ['explain', /rules\.yaml|name/],
  ['check --url http://a/mcp', 'did you mean --target?'],
  ['check --upstream http://a', 'did you mean --target?'],
  ['check --admin 127.0.0.1:1', 'did you mean --sidecar?'],
  ['init --url http://a/mcp', 'did you mean --target?'],
  ['init', 'http://localhost:3000/mcp'],
  ['stdio', '-- python server.py'],
  ['try', '-- npx -y some-mcp-server'],
  ['try --target http://a/mcp', 'did you mean --url?'],
]

/** Rules of newcomers, and the part of the answer that is the right form. */
const RULES: readonly (readonly [text: string, form: string])[] = [
  [ruleText('match: { method: tool/call }'), 'did you mean `tools/call`?'],
  [ruleText('tool: x'), 'write `tool` under `match`'],
  [ruleText('match: { tools: [a] }'), '`match: { tool: [a, b] }`'],
  [ruleText('percentage: 30'), 'write `percent: 10` on the rule'],
  [ruleText('chance: 0.3'), '`probability: 0.02`'],
  [ruleText('duration: 5m'), '`for: 15m`'],
  [ruleText('percent: 130'), '100'],
  [ruleText('for: 5'), 'add the unit: `'],
  [faultText('{ delay: { min: 1s, max: 2s } }'), '`uniform: { min: 1s, max: 2s }`'],
  [faultText('{ delay: 2s }'), '`- delay: {'],
  [faultText('{ delay: { fixed: 2 } }'), 'add the unit: `'],
  [faultText('{ latency: 100 }'), '`delay: { fixed: 1s }`'],
  [faultText('{ error: 503 }'), '`abort: { status: 503 }`'],
  [faultText('{ abort: 503 }'), '`- abort: {'],
  [faultText('{ abort: { code: 503 } }'), '`status: 503`'],
  [faultText('{ rewrite: { path: /a, type: string } }'), '`retype: { /humidity: string }`'],
  [faultText('{ cut: { after: 3 } }'), '`truncate`'],
  [faultText('{ session: lost }'), '`- session: {'],
  [faultText('{ timeout: 5s }'), '`hang: { for: 30s }`'],
  [faultText('{ ratelimit: {} }'), 'did you mean `rateLimit`?'],
]

const directory = mkdtempSync(join(tmpdir(), 'squall-wrong-'))
afterAll(() => rmSync(directory, { recursive: true }))

function answerTo(line: string): string {
  try {
    parseCommandLine(line.split(' '), {}, '1.2.3')
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  return 'accepted'
}

test.each(LINES)('squall %s is answered with the right form', (line, form) => {
  expect(answerTo(line)).toMatch(form)
})

test.each(RULES)('the rules %j are answered with the right form', (text, form) => {
  expect(rejected(text).map(sentence).join('\n')).toContain(form)
})

test('60 wrong inputs and more have the right form in their answer', () => {
  expect(LINES.length + RULES.length).toBeGreaterThan(60)
})

test.each([
  ['run --foo --bar=1', ['unknown option "--foo"', 'unknown option "--bar"']],
  ['run --port 80 --drain-timeout 5', ['--listen', '--drain-timeout: "5" is not a valid duration']],
  [
    'run --max-body 4M --drain-timeout 5',
    ['"4M" is not a valid size', '"5" is not a valid duration'],
  ],
  ['load --rps 5 --vus 3', ['--rate 50/s', 'did you mean --clients?']],
])('both errors of %s are named', (line, texts) => {
  for (const text of texts) expect(answerTo(line)).toContain(text)
})

test.each([
  ['percent: 0.3', '`percent: 0.3` is 0.3 % of the calls; write `percent: 30` for 30 %'],
  ['"percent": .05', '`percent: .05` is .05 % of the calls; write `percent: 5` for 5 %'],
  ['percent: 0.3%', undefined],
  ['probability: 0.3', undefined],
  ['percent: 3 # not percent: 0.3', undefined],
])('validate warns of %s where a part of 1 may be meant', async (key, warning) => {
  const file = join(directory, 'rules.yaml')
  writeFileSync(file, `rules:\n  - name: a\n    faults: [reset]\n    ${key}\n`)
  const { code, stdout } = await startProgram(['validate', file], {}, { here: true })
  expect(code).toBe(0)
  if (warning === undefined) expect(stdout).not.toContain('warning')
  else expect(stdout).toContain(`warning: ${file}:4: ${warning}`)
  const json = await startProgram(['validate', '--format', 'json', file], {}, { here: true })
  expect(json.stdout.includes('"warnings"')).toBe(warning !== undefined)
})
