import { AgentWatch, Findings } from '../../src/agents/agent-watch.ts'
import { KEY_KINDS } from '../../src/agents/key-kinds.ts'
import type { ReadAccess } from '../../src/admin/guards.ts'
import { parseAppProbesJson } from '../../src/admin/probes/app-probe.ts'
import { type Admin, createAdmin } from '../../src/admin/server.ts'
import { RecentFaults } from '../../src/listener/faults/fault-report.ts'
import { Arming } from '../../src/rules/guard/arming.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { finishPlan, planCall } from '../../src/rules/select/plan.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import { TemporaryFaults } from '../../src/rules/watch/temporary-faults.ts'
import { CallWatch } from '../../src/telemetry/call-watch.ts'
import type { Logger } from '../../src/telemetry/log.ts'
import { ShownIds } from '../../src/telemetry/shown-ids.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { OutboundCounts } from '../../src/telemetry/outbound-counts.ts'
import type { ToolsSource } from '../../src/telemetry/tool-sample.ts'
import { facts } from '../rules/facts.ts'

/** The token of the tests' admin port. */
export const TOKEN = 'a-token-of-the-tests'

export const NOW = 1_700_000_000_000
/** The same, as the API writes it. */
export const AT = new Date(NOW).toISOString()

/** A file with a rule that matches every call and a rule that matches none. */
export const RULES = `
maxActive: 9
rules:
  - name: slow
    percent: 100
    faults: [{ delay: { fixed: 1s } }, { abort: { status: 503 } }]
  - name: never
    percent: 0.5
    match: { tool: nobody }
    for: 1h
    faults: [{ abort: { status: 503 } }]
`

/** One line of the log. */
export interface LogLine {
  readonly level: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

export interface ApiSetup {
  readonly token?: string | undefined
  readonly bodyTimeoutMs?: number
  readonly tools?: ToolsSource
  readonly access?: ReadAccess
  readonly outbound?: OutboundCounts
  /** The probes of an upstream on loopback, as `squall inject` passes them. */
  readonly appProbes?: object
}

/** Starts an admin port in front of active rules; called by `startSquall`. */
export async function adminApi({
  bodyTimeoutMs,
  tools,
  access,
  outbound,
  appProbes,
  ...setup
}: ApiSetup) {
  const token = 'token' in setup ? setup.token : TOKEN
  const states = new RuleStates()
  const arming = new Arming(states, () => NOW)
  const rules = new ActiveRules({ states, arming, limits: {}, clock: () => NOW })
  const recent = new RecentFaults()
  const log: LogLine[] = []
  const write = (level: string) => (fields: object, message: string) =>
    void log.push({ level, fields: fields as LogLine['fields'], message })
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
  const metrics = new Metrics({ version: '1.2.3' })
  const watch = new CallWatch({ now: () => NOW })
  const findings = new Findings({ window: 1000, maxRetries: 3 })
  const agents = {
    findings,
    watch: new AgentWatch(
      {
        by: KEY_KINDS,
        header: 'x-task-id',
        meta: undefined,
        window: 1000,
        maxRetries: 3,
        now: () => NOW,
      },
      metrics.tasks,
    ),
    counts: metrics.tasks,
    ids: new ShownIds(),
  }
  const admin: Admin = createAdmin({
    metrics,
    readiness: () => ({ ready: true, reason: 'serving' }),
    logger,
    version: '1.2.3',
    rules,
    recent,
    temporary: new TemporaryFaults(rules),
    tools: tools ?? (() => metrics.tools()),
    watch,
    agents,
    outbound,
    token,
    environment: 'staging',
    ...(access && { access }),
    ...(appProbes && { appProbes: parseAppProbesJson(JSON.stringify(appProbes), '127.0.0.1') }),
    ...(bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs }),
  })
  const { port } = await admin.listen({ kind: 'tcp', host: '127.0.0.1', port: 0 })
  let versions = 0
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    rules,
    arming,
    recent,
    metrics,
    watch,
    agents,
    log,
    close: () => admin.close(),
    /** A file is found, good or bad. */
    take: (text: string): void => {
      const parsed = parseRules(text)
      const digest = `digest-${versions++}`
      if (parsed.ok) rules.take({ kind: 'rules', digest, file: parsed.file })
      else {
        const problems = [{ file: 'rules.yaml', problems: parsed.problems }]
        rules.take({ kind: 'rejected', digest, problems })
      }
    },
    /** A tool is called, and the faults injected into the call take effect. */
    call: (): void => {
      const plan = planCall(rules.ruleSet, facts(), states, () => NOW)
      if (plan === undefined) return
      for (const hit of plan.matched) if (hit.begin()) hit.applied()
      finishPlan(plan)
    },
    /** Asks as the kubelet does; `reset` where there was no response. */
    probe: async (key: string): Promise<readonly [status: number | 'reset', why: string]> => {
      try {
        const headers = { 'user-agent': 'kube-probe/1.33' }
        const response = await fetch(`${url}/app-health/${key}`, { headers })
        return [response.status, (await response.text()).trim()]
      } catch {
        return ['reset', '']
      }
    },
    get: async (path: string): Promise<unknown> => {
      const response = await fetch(`${url}${path}`)
      if (response.status !== 200) throw new Error(`${response.status}`)
      return response.json()
    },
    post: (path: string, body?: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${TOKEN}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
      }),
  }
}

export type Api = Awaited<ReturnType<typeof adminApi>>
