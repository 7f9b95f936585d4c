/// Returns the value that `start` passes to its completion handler. `start` must call the handler exactly once.
package func completion<Value: Sendable>(
    of start: (_ completion: @escaping @Sendable (Value) -> Void) -> Void
) async -> Value {
    // The continuation does not carry the value: if the handler is called before the task suspends, the thread
    // sanitizer does not see that the call precedes the end of the wait.
    let later = LateValue<Value>()
    await withCheckedContinuation { continuation in
        start {
            later.value = $0
            continuation.resume()
        }
    }
    guard let value = later.value else { preconditionFailure("the value was set before the continuation was resumed") }
    return value
}
