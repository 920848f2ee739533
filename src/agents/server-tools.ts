import type { RequestCall } from '../mcp/call.ts'
import type { Message } from '../mcp/json-rpc.ts'
import { fieldsOf, listOf, textOf } from '../base/values.ts'

/** Further tools count as unsafe, and so do those with a longer name. */
const MAX_TOOLS = 2_000
const MAX_NAME = 128

/** Remembers which tools of one server declare that they may be called again. */
export class ServerTools {
  readonly id: number
  readonly #tools = new Map<string, boolean>()

  constructor(id: number) {
    this.id = id
  }

  /** Learns from the response to a call. */
  learn({ method }: RequestCall, message: Message): void {
    if (method !== 'tools/list' || message.kind !== 'result') return
    for (const { name, annotations } of listOf(fieldsOf(message.result)['tools'])) {
      const tool = textOf(name)
      if (tool === undefined || tool.length > MAX_NAME) continue
      if (this.#tools.size >= MAX_TOOLS && !this.#tools.has(tool)) return
      const { idempotentHint, readOnlyHint } = fieldsOf(annotations)
      this.#tools.set(tool, idempotentHint === true || readOnlyHint === true)
    }
  }

  /** Returns true when a tool declares `idempotentHint` or `readOnlyHint`. */
  isSafe(tool: string | undefined): boolean {
    return tool !== undefined && this.#tools.get(tool) === true
  }
}
