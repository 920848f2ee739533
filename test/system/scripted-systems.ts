import { writeFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type {
  EndCode,
  Verdict,
} from '../../packages/experiments/src/experiment/experiment-result.ts'
import type { RejectionCode } from '../../packages/experiments/src/experiment/rejection.ts'
import type { Changes, ExperimentStage } from '../../packages/experiments/test/experiment/stage.ts'
import type { Moment } from './experiment-clock.ts'
import type { Step } from '../support/wire.ts'
import { failing } from '../live/rules-directory.ts'

/** A system with known behaviour, the plan with which it is tested, and the verdict that is right. */
export interface ScriptedSystem {
  readonly title: string
  readonly behaves: (moment: Moment) => Step | Promise<Step>
  readonly plan: Changes
  readonly flags: readonly string[]
  /** Returns true while Alertmanager has the alert `McpErrorsHigh`. */
  readonly fires?: (moment: Moment) => boolean
  /** Rules that are active before the experiment. */
  readonly before?: string
  /** Done once, at the first event of the first stage. */
  readonly meanwhile?: (stage: ExperimentStage, stop: AbortController) => void
  readonly wanted: Wanted
}

export type Wanted =
  | {
      readonly verdict: Verdict
      readonly code: EndCode | null
      readonly stage: string | null
      readonly mttrAtLeast?: number
    }
  | { readonly rejected: readonly RejectionCode[] }

type Fields = Partial<ScriptedSystem> & Pick<ScriptedSystem, 'title' | 'wanted'>

const SHARES = ['10%', '25%', '50%']
/** For rules that fail half of the calls: early in a stage it may be more of those that ended. */
const NEARLY_ALL = { errors: '90%' }
const PATIENT = { errors: { limit: '99%', for: '1h' } }
export const PASSED = { verdict: 'passed', code: null, stage: null } as const
const GUARD_OFF = ['--environment', 'staging', '--guard-error-rate', 'off']
const GUARD_ON = ['--environment', 'staging', '--guard-error-rate', '30%']

/** A system with the usual plan, and with what differs. */
export function system({ plan = {}, ...fields }: Fields): ScriptedSystem {
  const usual = {
    stages: SHARES,
    hold: '500ms',
    load: { rate: 60, timeout: '5s' },
    abortOn: { errors: '60%' },
  }
  return { behaves: () => 'ok', flags: GUARD_OFF, plan: { ...usual, ...plan }, ...fields }
}

const rule = (fault: unknown): readonly object[] => [
  { name: 'broken', match: { tool: 'work' }, faults: [fault] },
]

const aborted = (stage: number): Wanted => ({
  verdict: 'failed',
  code: 'ABORT_CONDITION',
  stage: SHARES[stage]!,
})
const NOT_RECOVERED: Wanted = { verdict: 'failed', code: 'NOT_RECOVERED', stage: null }
const inconclusive = (code: EndCode, stage: string): Wanted => ({
  verdict: 'inconclusive',
  code,
  stage,
})

const HOLDS = Object.entries({
  'tool errors': { abort: { toolError: 'no' } },
  'protocol errors': { abort: { rpcError: { code: -32000 } } },
  'status 503': { abort: { status: 503 } },
  'status 429': 'throttle',
  delays: { delay: { fixed: '50ms' } },
  'half responses': { truncate: { after: { bytes: 20 } } },
  resets: 'reset',
  'wrong results': { rewrite: { set: { '/total': 'many' } } },
}).map(([name, fault]) =>
  system({
    title: `holds under ${name}`,
    plan: { rules: rule(fault), abortOn: NEARLY_ALL },
    wanted: PASSED,
  }),
)

const ERRS_A_LITTLE = (['tool error', 'status 503'] as const).map((ending) =>
  system({
    title: `holds, with one ${ending} in 50 calls of its own`,
    behaves: ({ call }) => (call % 50 === 49 ? ending : 'ok'),
    plan: { steadyState: { errors: '20%' }, abortOn: NEARLY_ALL },
    wanted: PASSED,
  }),
)

const BREAKS = (['tool error', 'status 503', 'rpc error', 'reset'] as const).flatMap((ending) =>
  SHARES.map((share, at) =>
    system({
      title: `breaks at ${share} with ${ending}, and recovers`,
      behaves: ({ stage }) => (stage >= at && stage < Infinity ? ending : 'ok'),
      wanted: aborted(at),
    }),
  ),
)

const STOPS_RESPONDING = [0, 1].map((at) =>
  system({
    title: `stops responding at ${SHARES[at]}`,
    behaves: ({ stage }) => (stage >= at && stage < Infinity ? 'hang' : 'ok'),
    plan: {
      rules: rule({ delay: { fixed: '10ms' } }),
      hold: '9s',
      abortOn: { p95: '6s' },
      load: { rate: 20, timeout: '12s' },
      steadyState: { within: '20s' },
    },
    wanted: aborted(at),
  }),
)

const RETURNS_WRONG = SHARES.map((share, at) =>
  system({
    title: `returns wrong results from ${share} on`,
    behaves: ({ stage, call }) =>
      stage >= at && stage < Infinity && call % 2 === 0 ? 'wrong schema' : 'ok',
    plan: {
      rules: rule({ delay: { fixed: '10ms' } }),
      abortOn: undefined,
      slo: { correctness: '90%' },
    },
    wanted: { verdict: 'failed', code: 'SLO', stage: share },
  }),
)

const TRIPS_THE_GUARD = [0, 1].map((at) =>
  system({
    title: `fails at ${SHARES[at]} so often that the guard disarms the sidecar`,
    behaves: ({ stage }) => (stage >= at && stage < Infinity ? 'tool error' : 'ok'),
    flags: [...GUARD_ON, '--guard-window', '1s'],
    plan: { hold: '8s', abortOn: PATIENT },
    wanted: { verdict: 'failed', code: 'GUARD', stage: SHARES[at]! },
  }),
)

const RECOVERS_LATE = [500, 1000, 2000].map((ms) =>
  system({
    title: `recovers ${ms} ms after the rollback`,
    behaves: ({ stage, sinceRollback }) =>
      stage === Infinity && sinceRollback < ms ? 'tool error' : 'ok',
    plan: { stages: ['20%'], steadyState: { within: '15s' } },
    wanted: { ...PASSED, mttrAtLeast: 500 + ms },
  }),
)

const RECOVERS_TOO_LATE = (['tool error', 'status 503'] as const).map((ending) =>
  system({
    title: `recovers from ${ending} after the time limit`,
    behaves: ({ stage, sinceRollback }) =>
      stage === Infinity && sinceRollback < 10_000 ? ending : 'ok',
    plan: { stages: ['20%'], steadyState: { within: '1s' } },
    wanted: NOT_RECOVERED,
  }),
)

const NEVER_RECOVERS = (['tool error', 'rpc error', 'wrong schema'] as const).map((ending) =>
  system({
    title: `never recovers from ${ending}`,
    behaves: ({ stage }) => (stage === Infinity ? ending : 'ok'),
    plan: { stages: ['20%'], steadyState: { success: '90%', within: '1500ms' } },
    wanted: NOT_RECOVERED,
  }),
)

const FAILS_BEFORE = (
  [
    ['fails before the experiment', () => 'tool error'],
    ['fails one call in five before the experiment', ({ call }) => (call % 5 ? 'ok' : 'reset')],
    ['has lost its database before the experiment', () => 'status 503'],
  ] satisfies readonly (readonly [string, (moment: Moment) => Step])[]
).map(([title, behaves]) => system({ title, behaves, wanted: { rejected: ['NOT_STEADY'] } }))

const ENDURED = [
  system({
    title: 'fails at 25% for a shorter time than its abort condition allows',
    behaves: ({ stage }) => (stage === 1 ? 'tool error' : 'ok'),
    plan: { abortOn: PATIENT },
    wanted: PASSED,
  }),
  system({
    title: 'is slower with each stage, within its limits',
    behaves: ({ stage }) => setTimeout(stage === Infinity ? 0 : 5 * (stage + 1), 'ok' as const),
    plan: { abortOn: { p95: '10s' } },
    wanted: PASSED,
  }),
  system({
    title: 'fails every second call at 50%, and never recovers',
    behaves: ({ stage, call }) => (stage >= 2 && call % 2 === 0 ? 'tool error' : 'ok'),
    plan: { hold: '2s', steadyState: { within: '1s' } },
    wanted: aborted(2),
  }),
]

const OTHERS = failing('theirs', 'work')

const RULES = [
  system({
    title: 'has no tool that the rules match',
    plan: { rules: [{ name: 'broken', match: { tool: 'absent' }, faults: ['reset'] }] },
    wanted: { rejected: ['RULES_MATCH_NOTHING'] },
  }),
  system({
    title: 'gets fewer calls than the rules leave alone',
    plan: { rules: [{ name: 'late', match: { tool: 'work' }, after: 100_000, faults: ['reset'] }] },
    wanted: inconclusive('NO_INJECTIONS', SHARES[0]!),
  }),
  system({
    title: 'has faults of other rules before the experiment',
    before: OTHERS,
    wanted: { rejected: ['OTHER_RULES'] },
  }),
  system({
    title: 'holds while other rules are suspended, and fails all calls without and under them',
    before: OTHERS,
    plan: { sidecar: { replaceRules: true } },
    wanted: PASSED,
  }),
]

const OPERATED = [
  system({
    title: 'is disarmed by an operator',
    meanwhile: ({ squall }) => squall.running.rules!.arming.disarm('operator', 'enough'),
    plan: { hold: '10s' },
    wanted: inconclusive('DISARMED', SHARES[0]!),
  }),
  system({
    title: 'gets other rules from another program',
    meanwhile: ({ rulesFile }) => void writeFile(rulesFile, '# mine\nrules: []\n'),
    plan: { hold: '10s' },
    wanted: inconclusive('RULES_CHANGED', SHARES[0]!),
  }),
  system({
    title: 'is tested by somebody who presses Ctrl-C',
    meanwhile: (_, stop) => stop.abort(),
    plan: { hold: '10s' },
    wanted: inconclusive('INTERRUPTED', SHARES[0]!),
  }),
  system({
    title: 'loses its sidecar',
    meanwhile: ({ squall }) => void squall.close(),
    plan: { hold: '20s', abortOn: PATIENT, steadyState: { within: '1s' } },
    wanted: inconclusive('SIDECAR_LOST', SHARES[0]!),
  }),
  system({
    title: 'loses its server for good',
    meanwhile: ({ server }) => void server.close(),
    plan: { hold: '10s', steadyState: { within: '1s' } },
    wanted: aborted(0),
  }),
]

/** Systems whose verdict is known before they are tested. */
export const SYSTEMS: readonly ScriptedSystem[] = [
  ...HOLDS,
  ...ERRS_A_LITTLE,
  ...BREAKS,
  ...STOPS_RESPONDING,
  ...RETURNS_WRONG,
  ...TRIPS_THE_GUARD,
  ...RECOVERS_LATE,
  ...RECOVERS_TOO_LATE,
  ...NEVER_RECOVERS,
  ...FAILS_BEFORE,
  ...ENDURED,
  ...RULES,
  ...OPERATED,
]
