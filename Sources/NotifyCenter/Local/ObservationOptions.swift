/// Options of an observation, such as `.once` or `[.key("progress"), .priority(1)]`.
public struct ObservationOptions: Sendable {
    private var statedPriority: Int32?
    var key: String?
    var isOnce = false
    /// The maximum number of values to deliver at the registration.
    var valueLimit = Int.max
    var rateLimit: RateLimit?
    /// A notification is delivered only if all filters accept it.
    var filters: [@Sendable (LocalNotification) -> Bool] = []

    var priority: Int32 { statedPriority ?? 0 }

    /// The default options.
    public init() {}

    /// Ends the observation with the first delivery.
    public static var once: ObservationOptions {
        var options = ObservationOptions()
        options.isOnce = true
        return options
    }

    /// Sets the priority. Observers with a higher priority are called first, those with equal priorities in order of
    /// registration. The default is 0.
    public static func priority(_ priority: Int32) -> ObservationOptions {
        var options = ObservationOptions()
        options.statedPriority = priority
        return options
    }

    /// Replaces the earlier observation with the same key and the same owner. If this observation has no owner,
    /// replaces the one with the same key and no owner.
    ///
    /// The replacement is atomic: no post reaches both observations. A post in progress still calls the earlier
    /// observer, even if the earlier observation is cancelled meanwhile. An earlier observation that is buffered or
    /// rate-limited ends at once instead, and its pending notifications are dropped.
    ///
    /// All observations of a center that have no owner share one set of keys, so use a key that is unique in the
    /// program, such as `"com.example.feed.progress"`.
    public static func key(_ key: String) -> ObservationOptions {
        var options = ObservationOptions()
        options.key = key
        return options
    }

    /// Delivers no values at the registration. See ``LocalCenter/setValue(_:for:object:last:)-(_,NotificationName,_,_)``.
    public static var withoutValues: ObservationOptions { .values(atMost: 0) }

    /// Delivers at most the last `limit` values at the registration. The default is all.
    public static func values(atMost limit: Int) -> ObservationOptions {
        var options = ObservationOptions()
        options.valueLimit = max(limit, 0)
        return options
    }
}

// MARK: - Filters

extension ObservationOptions {
    /// Delivers only notifications that a closure accepts. Others are not buffered, do not end an observation with
    /// `.once`, and do not count for ``throttled(for:latest:clock:)``. With several filters, all must accept.
    ///
    /// ```swift
    /// let token = try center.observe("orders.*", options: .filter { $0.payload is OrderPaid }) { print($0.name) }
    /// ```
    ///
    /// - Parameter isIncluded: Called on the posters' threads, possibly concurrently, and possibly more than once per
    ///   notification.
    public static func filter(
        _ isIncluded: @escaping @Sendable (LocalNotification) -> Bool
    ) -> ObservationOptions {
        var options = ObservationOptions()
        options.filters = [isIncluded]
        return options
    }

    /// Delivers only messages of a type that a closure accepts. See ``filter(_:)``.
    ///
    /// ```swift
    /// let token = center.observe(OrderPaid.self, options: .filter(OrderPaid.self) { $0.amount > 100 }) {
    ///     print($0.order)
    /// }
    /// ```
    public static func filter<Message: Sendable>(
        _ type: Message.Type, _ isIncluded: @escaping @Sendable (Message) -> Bool
    ) -> ObservationOptions {
        filter { notification in (notification.payload as? Message).map(isIncluded) ?? false }
    }
}

extension ObservationOptions: ExpressibleByArrayLiteral {
    /// Combines options. The last priority, key and rate limit apply, and the smallest limit of values.
    /// All filters must accept a notification.
    public init(arrayLiteral elements: ObservationOptions...) {
        for element in elements {
            statedPriority = element.statedPriority ?? statedPriority
            if let key = element.key { self.key = key }
            isOnce = isOnce || element.isOnce
            valueLimit = min(valueLimit, element.valueLimit)
            if let rateLimit = element.rateLimit { self.rateLimit = rateLimit }
            filters += element.filters
        }
    }
}
