/** The result of a tool call. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
}

/** A tool as it is listed. */
export interface ListedTool {
  readonly name: string
  readonly inputSchema: { readonly required?: readonly string[] | undefined }
}

/** A client of one of the SDKs, as an agent uses it. */
export interface Agent {
  readonly session: string | undefined
  tools(): Promise<readonly ListedTool[]>
  /** Calls a tool, with arguments that it takes unless others are given. */
  call(tool: string, options?: CallOptions): Promise<ToolResult>
  close(): Promise<void>
}

interface CallOptions {
  readonly args?: Record<string, unknown>
  /** The timeout of a call in milliseconds. */
  readonly timeout?: number
}

interface Failure {
  readonly code?: string | number
  readonly status?: number
}

/** Describes a call as an agent sees it: `ok`, the tool's error text, or the SDK's error. */
export async function met(call: Promise<ToolResult>): Promise<string> {
  try {
    const { isError, content } = await call
    return isError === true ? `tool error: ${content[0]!.text}` : 'ok'
  } catch (error) {
    const { constructor, code, message, status } = error as Error & Failure
    return `${constructor.name} ${status ?? code ?? message}`
  }
}

/** Calls a tool several times in a row and describes each call. */
export async function callStates(agent: Agent, tool: string, calls: number): Promise<string[]> {
  const all: string[] = []
  for (let n = 0; n < calls; n++) all.push(await met(agent.call(tool)))
  return all
}
