/** The verdicts; `unnoticed`: an expected alert did not fire, however well the target held. */
export const VERDICTS = ['passed', 'failed', 'unnoticed', 'inconclusive'] as const

export type Verdict = (typeof VERDICTS)[number]
