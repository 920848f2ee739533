/** Copies the pages of a repository; returns their navigation, and what is wrong with them. */
export function writePages(options: {
  readonly root: string
  readonly to: string
  readonly repository: string | undefined
}): Promise<{ readonly sidebar: readonly object[]; readonly problems: readonly string[] }>
