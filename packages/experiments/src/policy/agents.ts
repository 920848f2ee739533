/** The agents for whose instructions files a policy can be printed. */
export const AGENTS = ['claude', 'cursor'] as const

export type Agent = (typeof AGENTS)[number]
