import type { Call } from '../../mcp/call.ts'
import { classifyBody } from '../../mcp/classify.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import { headerValue, targetPath, type RequestHead } from '../../http/headers.ts'
import type { CallFacts, ExchangeFacts } from '../../rules/match/call-facts.ts'
import type { ExplainRequest, ExplainSubject } from '../commands/explain.ts'
import { readRecordedRequest } from './recorded-request.ts'

/** A request as a sidecar would see it. */
export interface ExplainedExchange {
  readonly facts: ExchangeFacts & Pick<CallFacts, 'protocolVersion'>
  readonly calls: readonly Call[]
  /** The body is not read, so that it may hold any call. */
  readonly unread: boolean
}

/** Builds the request to explain. Throws nothing but a `UsageError`. */
export async function explainedExchange(request: ExplainRequest): Promise<ExplainedExchange> {
  const { subject, headers, session, client, protocolVersion } = request
  const known = { headers, session, client, protocolVersion }
  if (subject.kind === 'recorded') return recorded(subject.file, request)
  const path = targetPath(subject.path)
  if (subject.kind === 'http') {
    const http = { method: subject.method, path, target: subject.path }
    return { facts: { ...known, http }, calls: [], unread: false }
  }
  const http = { method: 'POST', path, target: subject.path }
  return { facts: { ...known, http }, calls: [callOf(subject, request)], unread: false }
}

async function recorded(file: string, request: ExplainRequest): Promise<ExplainedExchange> {
  const { method, target, headers: lines, body } = await readRecordedRequest(file)
  const headers = [...lines, ...request.headers]
  const head: RequestHead = { method, target, version: '1.1', headers }
  const said = factsOf(head)
  const posted =
    said.kind === 'post'
      ? classifyBody(said, Buffer.from(body), request.transport === 'http+sse')
      : undefined
  const isRead = posted?.kind === 'messages'
  return {
    facts: {
      headers,
      session: request.session ?? headerValue(headers, 'mcp-session-id'),
      client: (isRead ? posted.client : undefined) ?? request.client,
      protocolVersion: request.protocolVersion,
      http: { method, path: targetPath(target), target },
    },
    calls: isRead ? posted.calls : [],
    unread: !isRead && (posted !== undefined || said.hasBody || body.trim() !== ''),
  }
}

function callOf(
  { method, name, args }: Extract<ExplainSubject, { readonly kind: 'call' }>,
  { transport, protocolVersion }: ExplainRequest,
): Call {
  const key = method.startsWith('resources/') ? 'uri' : 'name'
  const params = { ...(name === undefined ? {} : { [key]: name }), arguments: args }
  return { id: 1, method, name, params, transport, protocolVersion, progressToken: undefined }
}
