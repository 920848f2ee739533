import { productionFlags } from '../flags/production.ts'
import { readTokenFlag } from '../flags/admin-access-flags.ts'
import type { FlagSpec } from '../flags/flag-values.ts'

const TARGET = 'What is called:'
const PACE = 'How much, and when:'
const CLIENT = 'What the client does about failures (nothing by default):'
const CHECKS = 'How results are judged:'
const OUTPUT = 'What comes out:'

/** The options of `squall load`. */
export const LOAD_FLAGS = [
  {
    name: 'target',
    value: 'url',
    group: TARGET,
    help: 'URL of the MCP endpoint, such as http://localhost:3000/mcp',
  },
  {
    name: 'tools',
    value: 'names',
    repeatable: true,
    group: TARGET,
    help: 'exact names of tools to call, separated by commas, with arguments made from their schemas; without these and --calls the tools that say that they only read (readOnlyHint)',
  },
  {
    name: 'yes',
    group: TARGET,
    help: 'call also tools that do not say whether they only read; tools that say that they write, or destroy, have to be named',
  },
  {
    name: 'calls',
    value: 'file',
    group: TARGET,
    help: 'YAML file of calls with their arguments, weights and expectations',
  },
  {
    name: 'client',
    value: 'kind',
    default: 'lean',
    group: TARGET,
    help: 'lean for volume; sdk-v1 or sdk-v2 for what real clients make of it',
  },
  {
    name: 'protocol-version',
    value: 'date',
    group: TARGET,
    help: 'protocol version to ask for; the newest that the server has by default',
  },
  {
    name: 'header',
    value: 'name=value',
    repeatable: true,
    group: TARGET,
    help: 'header of every request; never shown and not in the result',
  },
  {
    name: 'auth-token-file',
    value: 'file',
    group: TARGET,
    help: 'file with a token that is sent as Authorization: Bearer',
  },
  ...productionFlags(TARGET),
  {
    name: 'clients',
    value: 'number',
    default: '10',
    group: PACE,
    help: 'clients, each with a session of its own',
  },
  {
    name: 'rate',
    value: 'rate',
    group: PACE,
    help: 'calls that arrive per second, such as 200/s, whatever becomes of the ones before; without it each client begins a task when it is done with the last',
  },
  {
    name: 'duration',
    value: 'duration',
    group: PACE,
    help: 'for how long tasks begin (default: 10s when there is no --tasks)',
  },
  {
    name: 'graceful-stop',
    value: 'duration',
    default: '10s',
    group: PACE,
    help: 'time that calls under way have to end after --duration or Ctrl-C; then they are cut, and counted apart',
  },
  { name: 'tasks', value: 'number', group: PACE, help: 'how many tasks to run' },
  {
    name: 'ramp',
    value: 'duration',
    default: '0s',
    group: PACE,
    help: 'time over which the rate, or the number of clients, grows',
  },
  {
    name: 'fan-out',
    value: 'number',
    default: '1',
    group: PACE,
    help: 'calls of one task, which fails when one of them does',
  },
  { name: 'sequential', group: PACE, help: 'calls of a task one after another, not at once' },
  {
    name: 'max-in-flight',
    value: 'number',
    default: '10000',
    group: PACE,
    help: 'calls under way at a time with --rate; what arrives beyond it is dropped and counted',
  },
  {
    name: 'connections',
    value: 'number',
    default: '500',
    group: PACE,
    help: 'connections of the lean client at a time; calls beyond it wait for one, which counts as latency',
  },
  {
    name: 'hold',
    value: 'number',
    default: '0',
    group: PACE,
    help: 'streams to hold open beside the calls',
  },
  {
    name: 'seed',
    value: 'number',
    default: '1',
    group: PACE,
    help: 'what decides tools and arguments: the same ones for the same seed',
  },
  {
    name: 'shard',
    value: 'index/count',
    group: PACE,
    help: 'run one part of the load, the first being 0/count; merge the results with squall report merge',
  },
  {
    name: 'timeout',
    value: 'duration',
    default: '60s',
    group: CLIENT,
    help: 'time for one attempt of a call',
  },
  {
    name: 'retries',
    value: 'number',
    default: '0',
    group: CLIENT,
    help: 'further attempts of a call that failed in a way that another one may fix',
  },
  {
    name: 'retry-budget',
    value: 'percent',
    group: CLIENT,
    help: 'retries for each hundred calls at most',
  },
  {
    name: 'breaker',
    value: 'share',
    group: CLIENT,
    help: 'share of failures, such as 0.5, at which calls of a tool are not sent for a second',
  },
  {
    name: 'degrade',
    value: 'number',
    default: '0',
    group: CLIENT,
    help: 'so many calls at the end of a task it can do without',
  },
  {
    name: 'deadline',
    value: 'duration',
    group: CLIENT,
    help: 'time for a task; a call that ends later is no success',
  },
  {
    name: 'skip-late',
    group: CLIENT,
    help: 'do not send calls and retries that would miss the deadline',
  },
  {
    name: 'expect',
    value: 'condition',
    repeatable: true,
    group: CHECKS,
    help: 'what a result must be like to be usable: tool:/pointer, or with =, !=, >, >=, <, <= or =~ and a value',
  },
  {
    name: 'sidecar',
    value: 'url',
    repeatable: true,
    group: CHECKS,
    help: 'admin port of the sidecar, such as http://127.0.0.1:15390: asked whose the errors are that carry no mark (resets, hangs, rules with marker: false); repeat it for each of several',
  },
  readTokenFlag(CHECKS),
  {
    name: 'record-baseline',
    value: 'file',
    group: CHECKS,
    help: 'write how the results look, on a run without faults',
  },
  {
    name: 'baseline',
    value: 'file',
    group: CHECKS,
    help: 'results that have less than they had then are not usable',
  },
  {
    name: 'slo',
    value: 'gate',
    repeatable: true,
    group: CHECKS,
    help: 'gate such as "p99<2s", "success>99%" or "blast<5%"; the exit code is 1 when one is not passed',
  },
  { name: 'json', group: OUTPUT, help: 'print the result as JSON, and nothing else' },
  { name: 'out', value: 'file', group: OUTPUT, help: 'write the result as JSON' },
  { name: 'report', value: 'file', group: OUTPUT, help: 'write a report as one HTML file' },
  {
    name: 'metrics',
    value: 'address',
    group: OUTPUT,
    help: 'where Prometheus can scrape the load while it runs, such as 127.0.0.1:9464',
  },
  {
    name: 'metrics-hosts',
    value: 'names',
    repeatable: true,
    group: OUTPUT,
    help: 'names by which it can be scraped, beside addresses, names without a dot and names in a cluster',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall load`. */
export type LoadFlag = (typeof LOAD_FLAGS)[number]['name']
