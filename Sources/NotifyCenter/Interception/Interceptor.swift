/// What stands between posts and observers. It sees every post, however it was made, before anybody is called. While a center
/// has one, each post takes a lock for a moment to find it.
///
/// It lets the post go on by calling `next`, with the notification as it came or with another one, such as
/// ``LocalNotification/replacing(payload:)`` makes, and stops it by not calling `next`. What comes after the call of `next` runs
/// after the observers. To change the messages of one type, see ``LocalCenter/intercept(_:_:)``.
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

/// Interceptors in the order in which they were added. It never changes.
final class InterceptorChain: Sendable {
    let entries: [(id: UInt64, interceptor: Interceptor)]

    init(_ entries: [(id: UInt64, interceptor: Interceptor)] = []) {
        self.entries = entries
    }

    /// Hands the notification from one to the next, and what comes out at the end to the body.
    func run(_ notification: LocalNotification, from index: Int = 0, _ body: (LocalNotification) -> Void) {
        if index == entries.count { return body(notification) }
        entries[index].interceptor(notification) { run($0, from: index + 1, body) }
    }
}

/// Holds an interceptor: it ends when the token is cancelled or goes away.
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

    /// Ends the interception. Posts that are on their way through it go on as they are. Cancelling again does nothing.
    public func cancel() {
        let old = center.state.withLock { state in
            let old = state.interceptors
            state.interceptors = InterceptorChain(old.entries.filter { $0.id != id })
            center.set(LocalCenter.Feature.interceptors, to: !state.interceptors.entries.isEmpty)
            return old
        }
        // What the interceptor holds goes without the lock.
        withExtendedLifetime(old) {}
    }
}

extension LocalCenter {
    /// Has every post go through an interceptor from now on, after those that were added before.
    ///
    /// - Returns: A token that ends it when it goes or is cancelled.
    public func intercept(_ interceptor: @escaping Interceptor) -> InterceptionToken {
        let id = state.withLock { state in
            // Never one that a token has had, which may be cancelled again.
            state.lastInterceptor += 1
            let entry = (id: state.lastInterceptor, interceptor: interceptor)
            state.interceptors = InterceptorChain(state.interceptors.entries + [entry])
            set(Feature.interceptors, to: true)
            return entry.id
        }
        return InterceptionToken(center: self, id: id)
    }

    /// Has every post of a type of message go through an interceptor, which may watch, change or stop it. Posts of other types
    /// go on as they are.
    ///
    /// ```swift
    /// let token = center.intercept(OrderPaid.self) { paid, next in
    ///     next(OrderPaid(order: paid.order, amount: max(paid.amount, 0)))
    /// }
    /// ```
    ///
    /// What is passed to `next` keeps the name and the object of the post.
    ///
    /// - Returns: A token that ends it when it is released or cancelled.
    public func intercept<Message: NotificationMessage>(
        _ type: Message.Type, _ interceptor: @escaping @Sendable (_ message: Message, _ next: (Message) -> Void) -> Void
    ) -> InterceptionToken {
        intercept { notification, next in
            guard let message = notification.payload as? Message else { return next(notification) }
            interceptor(message) { next(notification.replacing(payload: $0)) }
        }
    }

    /// Hands a post through the interceptors, and what they let pass to the body.
    func intercepted(_ notification: LocalNotification, _ body: (LocalNotification) -> Void) {
        state.withLock { $0.interceptors }.run(notification, body)
    }
}
