/** Does something for each item, a few at a time; the results are in the order of the items. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  most: number,
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
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, work))
  return results
}
