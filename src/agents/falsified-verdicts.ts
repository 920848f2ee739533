/** Says what an agent did with a result with false values. */
export const FALSIFIED_VERDICTS = [
  'used',
  'used_blocked',
  'used_after_verification',
  'verified',
  'not_seen',
  'untracked',
] as const
export type FalsifiedVerdict = (typeof FALSIFIED_VERDICTS)[number]
