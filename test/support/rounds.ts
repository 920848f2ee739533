/** Returns the number of repetitions: few by default, many in `npm run test:rounds`. */
export function rounds(few: number, many: number): number {
  return process.env['SQUALL_TEST_ROUNDS'] === 'many' ? many : few
}

/** Returns one in so many cases, and all of them in `npm run test:rounds`. */
export function someOf<T>(cases: readonly T[], oneIn: number): readonly T[] {
  const step = rounds(oneIn, 1)
  return cases.filter((_, index) => index % step === 0)
}
