/** Returns a line for each link to a file or an anchor of the site that does not exist. */
export function deadLinks(directory: string, base: string): Promise<readonly string[]>
