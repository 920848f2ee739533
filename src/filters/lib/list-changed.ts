import type { Message } from '../../mcp/json-rpc.ts'
import type { Frame } from '../fault.ts'

const METHOD = /^notifications\/(?:tools|prompts|resources)\/list_changed$/

/** True for the notification that a list has changed. */
export function isListChanged(message: Message | undefined): boolean {
  return message?.kind === 'notification' && METHOD.test(message.method)
}

/** An event that says so of the list that a method is about; of the tools where it is about none. */
export function listChanged(about: string | undefined): Frame {
  const kind = /^(?:prompts|resources)(?=\/)/.exec(about ?? '')?.[0] ?? 'tools'
  const method = `notifications/${kind}/list_changed`
  const json = JSON.stringify({ jsonrpc: '2.0', method })
  return {
    kind: 'event',
    raw: Buffer.from(`event: message\ndata: ${json}\n\n`),
    message: { kind: 'notification', method, params: undefined },
    last: false,
  }
}
