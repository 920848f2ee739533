export function endAll(): void
export function runCommand(
  command: readonly string[],
  options: {
    readonly env?: NodeJS.ProcessEnv
    readonly milliseconds: number
    readonly log: string
  },
): Promise<number | string | undefined>
export function countTests(log: string): {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}
