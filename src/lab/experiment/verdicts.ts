export const VERDICTS = ['passed', 'failed', 'inconclusive'] as const

export type Verdict = (typeof VERDICTS)[number]
