export const ALIASES: { find: string | RegExp; replacement: string }[]
