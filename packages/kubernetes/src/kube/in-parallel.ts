const AT_A_TIME = 16

/** Runs an action for each item, sixteen at a time; the results are in the order of the items. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  action: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++
      results[at] = await action(items[at]!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, items.length) }, work))
  return results
}
