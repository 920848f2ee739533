import { isRecord } from '../../../base/values.ts'
import { limitCall } from './call-limit.ts'
import { codeOf, connectionFailure } from './connection-failure.ts'
import type { CallBounds, CallResponse } from './load-client.ts'
import type { MarkerFetch, SeenResponse } from './marker-fetch.ts'
import { toolResponse } from './read-response.ts'
import { LoadError } from '../load-error.ts'
import type { ClientKind } from '../results/result.ts'

/** Sends a call by an SDK; `timeout` is longer than the limit of the attempt. */
export type SdkCall = (options: { signal: AbortSignal; timeout: number }) => Promise<unknown>

const CONNECTION_CLOSED = -32000

/** Converts the result or error of an SDK call to an outcome. Never rejects. */
export async function sdkResponse(
  markerFetch: MarkerFetch,
  call: SdkCall,
  bounds: CallBounds,
): Promise<CallResponse> {
  const seen: SeenResponse = {
    status: undefined,
    fromSquall: false,
    retryAfterMs: undefined,
    markers: [],
  }
  const limit = limitCall(bounds)
  try {
    const options = { signal: limit.signal, timeout: bounds.timeoutMs + 10_000 }
    const result = await markerFetch.watch(seen, () => call(options))
    if (isRecord(result)) return toolResponse(result, seen.markers)
    return { kind: 'malformed', markers: seen.markers, message: 'the result is no object' }
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
  const ofSocket =
    codeOf(error)?.startsWith('E') === true || codeOf(error)?.startsWith('UND_') === true
  const ofFetch = error instanceof TypeError && /fetch failed|terminated/.test(error.message)
  if (late || ofSocket || ofFetch) {
    return connectionFailure(error, { late, headSeen: status !== undefined, markers })
  }
  return { ...common, kind: 'malformed' }
}

/** Reports that the package of an optional client is not installed. */
export function missingClient(kind: ClientKind, name: string, cause: unknown): unknown {
  const { code } = cause as { readonly code?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND') return cause
  return new LoadError(
    'CLIENT_MISSING',
    `--client ${kind} needs the package ${name}, which is not installed`,
    `install it beside squall with npm install ${name}, or use --client lean`,
  )
}
