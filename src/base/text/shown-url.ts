/** Returns a URL without the parts that may be secret: user, password, query and fragment. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}
