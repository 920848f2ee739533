import type { RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Fault } from '../../src/filters/fault.ts'
import { FaultRun } from '../../src/listener/faults/fault-run.ts'
import { FaultedUpstream } from '../../src/listener/faults/source/faulted-upstream.ts'
import type { InjectedRecord, NotApplicableRecord } from '../../src/listener/faults/fault-events.ts'
import type { PushChannel } from '../../src/listener/faults/source/push-channel.ts'
import { codingOf, decodeWhole } from '../../src/http/content-coding.ts'
import type { Exchange } from '../../src/listener/exchange.ts'
import { HttpFront } from '../../src/listener/front/http-front.ts'
import { Relay } from '../../src/listener/relay.ts'
import { classifyBody } from '../../src/mcp/classify.ts'
import { factsOf } from '../../src/mcp/request-facts.ts'
import { headerValue } from '../../src/http/headers.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { Hit } from '../../src/rules/select/matched-rule.ts'
import { planCall, planHttp, type Plan } from '../../src/rules/select/plan.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import type { RuleCounts } from '../../src/rules/select/rule-counts.ts'
import type { RuleFileSpec, RuleSpec } from '../../src/rules/file/rule-spec.ts'
import type { Telemetry } from '../../src/telemetry/telemetry.ts'
import { createConnector } from '../../src/upstream/connector.ts'
import { App } from '../../src/upstream/http-upstream.ts'
import { startHttpApp } from '../support/http-app.ts'
import { ENGINE_UNDER_TEST } from '../support/engine.ts'

export interface StageOptions {
  readonly rules: readonly RuleSpec[]
  readonly file?: Omit<RuleFileSpec, 'rules'>
  readonly app: RequestListener
  /** In the place of the faults of every rule that hits. */
  readonly faults?: readonly Fault[]
  readonly push?: PushChannel
  readonly http?: boolean
  readonly transport?: 'http+sse'
  readonly maxBody?: number
  /** What the session is known by. */
  readonly session?: string
  /** Aborted when the sidecar drains. */
  readonly closing?: AbortSignal
}

const silent: Telemetry = {
  call: () => undefined,
  http: () => undefined,
  unclassified: () => undefined,
  refused: () => undefined,
  overhead: () => undefined,
  gauge: () => undefined,
  evicted: () => undefined,
  injected: () => undefined,
  reloaded: () => undefined,
  guardTripped: () => undefined,
}

/** A listener with nothing but the fault lane in it, in front of a real app. */
export async function startStage(options: StageOptions) {
  const app = await startHttpApp(options.app)
  const address = { kind: 'tcp', tls: false, host: '127.0.0.1', port: app.port } as const
  const behind = new App({
    address,
    splice: ENGINE_UNDER_TEST === 'splice',
    connector: createConnector({ address, timeout: 5000, tls: () => ({}) }),
    idle: 10_000,
    maxResponseHead: 65_536,
    maxConnections: 100,
    reuse: true,
    others: () => 0,
    onConnections: () => undefined,
    now: () => performance.now(),
  })
  const { upstream } = behind
  const ruleSet = compileRules({ seed: 7, ...options.file, rules: options.rules })
  const states = new RuleStates()
  states.adopt(ruleSet, 0)
  const injected: InjectedRecord[] = []
  const notApplicable: NotApplicableRecord[] = []
  const broken: unknown[] = []
  const runs: FaultRun[] = []
  const failures: string[] = []
  const reached: string[] = []
  let finished = 0
  let wake: (() => void)[] = []
  const tell = (): void => {
    for (const each of wake.splice(0)) each()
  }
  const listener = {
    injected: (record: InjectedRecord) => {
      injected.push(record)
      tell()
    },
    notApplicable: (record: NotApplicableRecord) => void notApplicable.push(record),
    broke: (_: unknown, error: unknown) => void broken.push(error),
  }

  function planned(plan: Plan | undefined): Plan | undefined {
    const { faults } = options
    if (plan === undefined || faults === undefined) return plan
    const use = options.rules[0]!.faults[0]!
    const hits = plan.hits.map(({ rule, state, key }) => {
      const own = { ...rule, faults, uses: faults.map(() => use) }
      return new Hit(own, state, states.active, key, false)
    })
    return { hits, shadow: false }
  }

  function handle(exchange: Exchange, bytes: Uint8Array): void {
    const { head } = exchange
    const coding = codingOf(headerValue(head.headers, 'content-encoding'))
    const plain = decodeWhole(coding, bytes, 1 << 20) ?? bytes
    const posted = classifyBody(factsOf(head), plain, false)
    const facts = {
      headers: head.headers,
      session: options.session,
      client: undefined,
      http: { method: head.method, path: '/mcp' },
    }
    const calls = (posted.kind === 'messages' ? posted.calls : []).map((read) => {
      const call = { ...read, transport: options.transport ?? read.transport }
      return { call, plan: planned(planCall(ruleSet, { ...facts, call }, states, () => 0)) }
    })
    const run = new FaultRun({
      facts,
      requestBytes: bytes.length,
      now: () => Date.now(),
      host: {
        expireSession: () => {
          reached.push('expire session')
          return options.session !== undefined
        },
        isSessionOver: () => false,
        refuseConnections: (ms) => void reached.push(`refuse ${ms}`),
      },
      request: head,
      calls,
      batch: posted.kind === 'messages' && posted.batch,
      exchangePlan:
        options.http === true ? planned(planHttp(ruleSet, facts, states, () => 0)) : undefined,
      session: 'session',
      maxBody: options.maxBody ?? 1 << 20,
      holdTimeout: 120_000,
      listener,
      push: options.push,
      closing: options.closing,
    })
    runs.push(run)
    const end = {
      finished: () => {
        finished++
        tell()
      },
      unanswered: (failure: { message: string }) => {
        failures.push(failure.message)
        exchange.answer.cut('rst')
      },
      redirected: () => false,
      blind: () => undefined,
      dropped: () => undefined,
      spent: () => undefined,
    }
    const relay = new Relay(exchange, null, end, () => 0)
    relay.attach(new FaultedUpstream(upstream, run).send(head, exchange.body.forSending(), relay))
    tell()
  }

  const front = new HttpFront(
    {
      maxHead: 65_536,
      headTimeout: 10_000,
      bodyTimeout: 10_000,
      holdTimeout: 120_000,
      maxConnections: 100,
      overloadReserve: 256,
      clientKeepalive: 10_000,
      maxBody: 1_048_576,
      engine: ENGINE_UNDER_TEST,
    },
    {
      handle: (exchange) => exchange.body.collect(1 << 20, (bytes) => handle(exchange, bytes!)),
      refuse: () => undefined,
      upgrade: (_, socket) => socket.destroy(),
    },
    silent,
    undefined,
  )
  front.server.listen(0, '127.0.0.1')
  await once(front.server, 'listening')
  return {
    port: (front.server.address() as AddressInfo).port,
    host: '127.0.0.1',
    injected,
    notApplicable,
    broken,
    failures,
    /** What faults did beyond their calls. */
    reached,
    runs,
    states,
    /** How many exchanges are over. */
    finished: () => finished,
    disarm: () => states.disarm('test'),
    counts: (index = 0): RuleCounts => states.of(ruleSet.rules[index]!)!.counts,
    /** Resolves when it holds; asked again after everything that happens here. */
    until: async (met: () => boolean): Promise<void> => {
      while (!met()) await new Promise<void>((resolve) => wake.push(resolve))
    },
    close: async () => {
      wake = []
      front.close()
      behind.close()
      await app.close()
    },
  }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

/** A result with `text`, as JSON bytes that no serializer would write. */
export function resultText(id: number | string, text = 'ok'): string {
  return `{"result" :{"content":[{"type":"text","text":${JSON.stringify(text)}}],"n":10000000000000000001},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
}

interface Message {
  readonly id?: number | string
  readonly method?: string
}

/** Reads what an app is asked: all messages of the POST. */
async function asked(req: Parameters<RequestListener>[0]): Promise<Message[]> {
  const parts: Buffer[] = []
  for await (const part of req) parts.push(part as Buffer)
  const value = JSON.parse(Buffer.concat(parts).toString() || '[]') as Message | Message[]
  return Array.isArray(value) ? value : [value]
}

/** Calls back with what an app is asked. */
export function whenAsked(
  req: Parameters<RequestListener>[0],
  answer: (messages: Message[]) => unknown,
): void {
  asked(req).then(answer, () => undefined)
}

/** An app that answers in JSON, a batch by an array. */
export const jsonApp: RequestListener = (req, res) => {
  whenAsked(req, (messages) => {
    const calls = messages.filter(({ id }) => id !== undefined)
    const all = calls.map(({ id }) => resultText(id!))
    if (all.length === 0) return res.writeHead(202).end()
    const body =
      messages.length === 1 && req.headers['x-batch'] === undefined
        ? all[0]!
        : `[${all.join(' , ')}]`
    res.setHeader('content-type', 'application/json')
    res.setHeader('content-length', Buffer.byteLength(body))
    return res.end(body)
  })
}

/** What the stream of an app looks like, with a progress event and a comment before the answer. */
export function streamText(id: number | string): string {
  return `id: 1\ndata: \n\n: keep\n\nevent: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${JSON.stringify(id)},"progress":1}}\r\n\r\nid: 2\nevent: message\ndata: ${resultText(id)}\n\n`
}

/** An app that answers in a stream. */
export const sseApp: RequestListener = (req, res) => {
  whenAsked(req, (messages) => {
    res.setHeader('content-type', 'text/event-stream')
    for (const { id } of messages) if (id !== undefined) res.write(streamText(id))
    res.end()
  })
}
