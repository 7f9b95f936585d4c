/// Returns the value that a function passes to its completion handler, which is called once.
package func completion<Value: Sendable>(
    of start: (_ completion: @escaping @Sendable (Value) -> Void) -> Void
) async -> Value {
    // The value is not passed through the continuation: if the handler is called before the task suspends, the thread
    // sanitizer does not detect the ordering.
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
