/** A result of the tool. */
export interface ToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent: Record<string, unknown>
  [more: string]: unknown
}

/** The error text of a tool that fails. */
export const TOOL_ERROR = 'db-7 is gone'

/** Returns the result of every tool of the matrix for its n-th call. */
export function resultOf(n: unknown): ToolResult {
  const structuredContent = { n, city: 'Oslo', temperature: 21, items: [1, 2, 3, 4, 5, 6] }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}

/** A tool as it is listed. */
export function listed(name: string): {
  name: string
  inputSchema: { type: 'object' }
  outputSchema: { type: 'object'; properties: Record<string, object>; required: string[] }
} {
  return {
    name,
    inputSchema: { type: 'object' },
    outputSchema: {
      type: 'object',
      properties: {
        n: { type: 'number' },
        city: { type: 'string' },
        temperature: { type: 'number' },
        items: { type: 'array' },
      },
      required: ['n', 'city', 'temperature'],
    },
  }
}
