/** The formats that can be converted, in the order in which documents are recognized. */
export const FORMATS = ['chaos-monkey', 'mcp-chaos'] as const

export type Format = (typeof FORMATS)[number]
