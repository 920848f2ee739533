/** What a tool is answered with. */
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
  /** How long the agent waits, in milliseconds. */
  readonly timeout?: number
}

interface Failure {
  readonly code?: string | number
  readonly status?: number
}

/** What an agent gets to see of a call, in one line: `ok`, what the tool said, or the SDK's error. */
export async function met(call: Promise<ToolResult>): Promise<string> {
  try {
    const { isError, content } = await call
    return isError === true ? `tool error: ${content[0]!.text}` : 'ok'
  } catch (error) {
    const { constructor, code, message, status } = error as Error & Failure
    return `${constructor.name} ${status ?? code ?? message}`
  }
}

/** What calls of a tool meet, one after the other. */
export async function fates(agent: Agent, tool: string, calls: number): Promise<string[]> {
  const all: string[] = []
  for (let n = 0; n < calls; n++) all.push(await met(agent.call(tool)))
  return all
}
