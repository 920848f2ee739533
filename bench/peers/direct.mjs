/** No proxy at all: what the load generator and the upstream reach by themselves. */
/** @type {import('./index.mjs').Peer} */
export const direct = { name: 'direct', summary: 'no proxy' }
