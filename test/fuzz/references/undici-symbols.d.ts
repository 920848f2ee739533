declare module 'undici/lib/core/symbols.js' {
  const symbols: { readonly kKeepAliveTimeoutValue: symbol }
  export default symbols
}
