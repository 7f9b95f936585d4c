/// A closure that every post passes through before observers are called, for all methods of posting. While a center has
/// interceptors, each post takes a lock briefly to find them.
///
/// To continue the post, an interceptor calls `next` with the notification it received or with a different one, for
/// example the result of ``LocalNotification/replacing(payload:)``. To stop the post, it does not call `next`. Code
/// after the call to `next` runs after the observers were called. To change the messages of one type, see
/// ``LocalCenter/intercept(_:_:)``.
///
/// ```swift
/// let token = center.intercept { notification, next in
///     let start = ContinuousClock.now
///     next(notification)
///     print(notification.name, ContinuousClock.now - start)
/// }
/// ```
public typealias Interceptor =
    @Sendable (_ notification: LocalNotification, _ next: (LocalNotification) -> Void) -> Void

/// The interceptors in the order in which they were added. Immutable.
final class InterceptorChain: Sendable {
    let entries: [(id: UInt64, interceptor: Interceptor)]

    init(_ entries: [(id: UInt64, interceptor: Interceptor)] = []) {
        self.entries = entries
    }

    /// Passes a notification through the interceptors from an index on, and calls the body with each notification that
    /// the last interceptor passes on.
    func run(_ notification: LocalNotification, from index: Int = 0, _ body: (LocalNotification) -> Void) {
        if index == entries.count { return body(notification) }
        entries[index].interceptor(notification) { run($0, from: index + 1, body) }
    }
}

/// A token of an interceptor. The interception ends when the token is cancelled or released.
public final class InterceptionToken: Sendable {
    private let center: LocalCenter
    private let id: UInt64

    fileprivate init(center: LocalCenter, id: UInt64) {
        self.center = center
        self.id = id
    }

    deinit {
        cancel()
    }

    /// Ends the interception. Posts in progress still pass through the interceptor. Cancelling again has no effect.
    public func cancel() {
        let old = center.state.withLock { state in
            let old = state.interceptors
            state.interceptors = InterceptorChain(old.entries.filter { $0.id != id })
            center.set(LocalCenter.Feature.interceptors, to: !state.interceptors.entries.isEmpty)
            return old
        }
        // Released outside the lock: deinitializers of captured values may call the center.
        withExtendedLifetime(old) {}
    }
}

extension LocalCenter {
    /// Adds an interceptor for all later posts. A post passes through the interceptors in the order in which they were
    /// added.
    ///
    /// - Returns: A token. The interception ends when the token is cancelled or released.
    public func intercept(_ interceptor: @escaping Interceptor) -> InterceptionToken {
        let id = state.withLock { state in
            // Never reused: an earlier token may be cancelled again.
            state.lastInterceptor += 1
            let entry = (id: state.lastInterceptor, interceptor: interceptor)
            state.interceptors = InterceptorChain(state.interceptors.entries + [entry])
            set(Feature.interceptors, to: true)
            return entry.id
        }
        return InterceptionToken(center: self, id: id)
    }

    /// Adds an interceptor that may observe, change or stop the posts of one type of message. Posts with other payloads
    /// are not affected.
    ///
    /// ```swift
    /// let token = center.intercept(OrderPaid.self) { paid, next in
    ///     next(OrderPaid(order: paid.order, amount: max(paid.amount, 0)))
    /// }
    /// ```
    ///
    /// A message that is passed to `next` keeps the name and the object of the post.
    ///
    /// - Returns: A token. The interception ends when the token is cancelled or released.
    public func intercept<Message: NotificationMessage>(
        _ type: Message.Type, _ interceptor: @escaping @Sendable (_ message: Message, _ next: (Message) -> Void) -> Void
    ) -> InterceptionToken {
        intercept { notification, next in
            guard let message = notification.payload as? Message else { return next(notification) }
            interceptor(message) { next(notification.replacing(payload: $0)) }
        }
    }

    /// Passes a post through the interceptors, and calls the body with each notification that the last interceptor
    /// passes on.
    func intercepted(_ notification: LocalNotification, _ body: (LocalNotification) -> Void) {
        state.withLock { $0.interceptors }.run(notification, body)
    }
}
