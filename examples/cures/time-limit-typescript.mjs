// Gives up after 10 s, instead of the SDK's 60 s, and tells the server that it does.
const LIMIT = {
  timeout: 10_000,
  // Progress starts the time anew, up to this.
  resetTimeoutOnProgress: true,
  maxTotalTimeout: 120_000,
}

/** SDK v1: the options are the third argument. */
export const callToolV1 = (client, params) => client.callTool(params, undefined, LIMIT)

/** SDK v2: they are the second. */
export const callToolV2 = (client, params) => client.callTool(params, LIMIT)
