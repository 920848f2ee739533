import type { CallBounds, CallResponse, LoadClient } from './load-client.ts'
import { openHeldStream } from './held-stream.ts'
import { type MarkerFetch, type SeenResponse, createMarkerFetch } from './marker-fetch.ts'
import type { LoadTarget } from '../load-options.ts'
import { isRecord } from '#base'
import { limitCall } from './call-limit.ts'
import { codeOf, connectionFailure } from './connection-failure.ts'
import { secretHider } from './own-secrets.ts'
import { toolResponse } from './read-response.ts'
import { LoadError } from '../load-error.ts'
import type { ClientKind } from '../results/result.ts'

type CallLimits = { readonly signal: AbortSignal; readonly timeout: number }

type CallTool = (
  params: { name: string; arguments: Record<string, unknown>; _meta: { traceparent?: string } },
  limits: CallLimits,
) => Promise<unknown>

/** Loads the SDK of version 1 and returns a function that opens clients. */
export async function loadSdkV1(target: LoadTarget, version: string) {
  const [{ Client }, { StreamableHTTPClientTransport }] = await imported(
    'sdk-v1',
    '@modelcontextprotocol/sdk',
    () =>
      Promise.all([
        import('@modelcontextprotocol/sdk/client/index.js'),
        import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      ]),
  )
  return () => {
    const client = new Client({ name: 'squall-load', version }, { capabilities: {} })
    return openSdkClient(target, client, StreamableHTTPClientTransport, (params, limits) =>
      client.callTool(params, undefined, limits),
    )
  }
}

/** Loads the SDK of version 2 and returns a function that opens clients. */
export async function loadSdkV2(target: LoadTarget, version: string, modern: boolean) {
  const { Client, StreamableHTTPClientTransport } = await imported(
    'sdk-v2',
    '@modelcontextprotocol/client',
    () => import('@modelcontextprotocol/client'),
  )
  const mode = modern ? 'auto' : 'legacy'
  const options = { capabilities: {}, versionNegotiation: { mode } } as const
  return () => {
    const client = new Client({ name: 'squall-load', version }, options)
    return openSdkClient(target, client, StreamableHTTPClientTransport, (params, limits) =>
      client.callTool(params, limits),
    )
  }
}

async function openSdkClient<
  Transport extends { readonly sessionId?: string | undefined; terminateSession(): Promise<void> },
>(
  { url, headers }: LoadTarget,
  client: { connect(transport: NoInfer<Transport>): Promise<void>; close(): Promise<void> },
  Transport: new (
    url: URL,
    options: { fetch: typeof fetch; requestInit: RequestInit },
  ) => Transport,
  callTool: CallTool,
): Promise<LoadClient> {
  const markerFetch = createMarkerFetch()
  const transport = new Transport(url, { fetch: markerFetch.fetch, requestInit: { headers } })
  const hidden = secretHider({ url, headers })
  await client.connect(transport).catch((error: Error) => {
    error.message = hidden(error.message)
    throw error
  })
  return {
    call: async (name, args, bounds) => {
      const _meta = bounds.traceparent === undefined ? {} : { traceparent: bounds.traceparent }
      const params = { name, arguments: args, _meta }
      const response = await sdkResponse(markerFetch, (limits) => callTool(params, limits), bounds)
      return { ...response, message: response.message && hidden(response.message) }
    },
    hold: (signal) => {
      const { sessionId } = transport
      const session = sessionId === undefined ? {} : { 'mcp-session-id': sessionId }
      return openHeldStream(url, { ...headers, ...session }, signal)
    },
    async close() {
      await transport.terminateSession().catch(() => {})
      await client.close()
    },
  }
}

/** Imports an optional client; throws a `LoadError` when its package is not installed. */
async function imported<Module>(
  kind: ClientKind,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new LoadError(
      'CLIENT_MISSING',
      `--client-kind ${kind} needs the package ${name}, which is not installed`,
      `install it beside squall with npm install ${name}, or use --client-kind lean`,
    )
  }
}

const CONNECTION_CLOSED = -32000

/** Converts the result or error of an SDK call to an outcome. Never rejects. */
async function sdkResponse(
  markerFetch: MarkerFetch,
  call: (limits: CallLimits) => Promise<unknown>,
  bounds: CallBounds,
): Promise<CallResponse> {
  const seen: SeenResponse = {
    task: bounds.task,
    status: undefined,
    fromSquall: false,
    retryAfterMs: undefined,
    markers: [],
  }
  const limit = limitCall(bounds)
  try {
    // The SDK must not end the attempt before its own limit does.
    const options = { signal: limit.signal, timeout: bounds.timeoutMs + 10_000 }
    const result = await markerFetch.watch(seen, () => call(options))
    if (isRecord(result)) return toolResponse(result, seen.markers)
    return { kind: 'malformed', markers: seen.markers, message: 'result is not an object' }
  } catch (error) {
    return failure(error, seen, limit.late)
  } finally {
    limit.release()
  }
}

function failure(error: unknown, seen: SeenResponse, late: boolean): CallResponse {
  const { markers, status, fromSquall, retryAfterMs } = seen
  const message = error instanceof Error ? error.message.slice(0, 200) : String(error)
  const common = {
    markers,
    fromSquall,
    message,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
  if (!late && status !== undefined && status >= 400)
    return { ...common, kind: 'http', code: status }
  const code = isRecord(error) || error instanceof Error ? (error as { code?: unknown }).code : 0
  // The SDK of version 1 uses -1 for a response that it cannot parse.
  if (!late && typeof code === 'number' && code !== -1) {
    if (code === CONNECTION_CLOSED && /closed/i.test(message))
      return { ...common, kind: 'incomplete' }
    return { ...common, kind: 'rpc', code }
  }
  const ofSocket = /^(E|UND_)/.test(codeOf(error) ?? '')
  const ofFetch = error instanceof TypeError && /fetch failed|terminated/.test(error.message)
  if (late || ofSocket || ofFetch) {
    return connectionFailure(error, { late, headSeen: status !== undefined, markers })
  }
  return { ...common, kind: 'malformed' }
}
