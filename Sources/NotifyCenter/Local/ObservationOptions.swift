/// How somebody observes: `.once`, or several things together: `[.key("progress"), .priority(1)]`.
public struct ObservationOptions: Sendable {
    private var statedPriority: Int32?
    var key: String?
    var isOnce = false
    /// How many retained notifications to get at first.
    var retainedLimit = Int.max
    var rateLimit: RateLimit?
    /// All must accept.
    var filters: [@Sendable (LocalNotification) -> Bool] = []

    var priority: Int32 { statedPriority ?? 0 }

    /// Nothing out of the ordinary.
    public init() {}

    /// Ends with the first notification it gets.
    public static var once: ObservationOptions {
        var options = ObservationOptions()
        options.isOnce = true
        return options
    }

    /// Higher is called first; equal ones are called in order of registration. 0 if nothing is said.
    public static func priority(_ priority: Int32) -> ObservationOptions {
        var options = ObservationOptions()
        options.statedPriority = priority
        return options
    }

    /// Takes the place of an earlier observation with the same key and owner (or without owner, as this one). The earlier
    /// one ends in the same moment, so that no post reaches both or neither: one that has begun before still calls the
    /// earlier, unless that runs elsewhere or is rate-limited, and neither to cancel the earlier nor to remove all that the owner
    /// has prevents that call. What waits for the earlier is dropped.
    ///
    /// Observations without owner share their keys in all of the center, so that such a key should say whose it is:
    /// `"com.example.feed.progress"`.
    public static func key(_ key: String) -> ObservationOptions {
        var options = ObservationOptions()
        options.key = key
        return options
    }

    /// Gets no retained notifications as it begins.
    public static var withoutRetained: ObservationOptions { .retained(atMost: 0) }

    /// Gets at most so many retained notifications as it begins, the last ones. All of them if nothing is said.
    public static func retained(atMost limit: Int) -> ObservationOptions {
        var options = ObservationOptions()
        options.retainedLimit = max(limit, 0)
        return options
    }
}

// MARK: - Filters

extension ObservationOptions {
    /// Gets only the notifications that a closure accepts. The others take no room in a buffer, do not end an observation
    /// with `.once`, and do not count for ``throttled(for:latest:clock:)``. Of several filters, all must accept.
    ///
    /// ```swift
    /// let token = try center.observe("orders.*", options: .filter { $0.payload is OrderPaid }) { print($0.name) }
    /// ```
    ///
    /// - Parameter isIncluded: Called on the thread of each poster, so perhaps on several at once, and more than once for a
    ///   notification where the center has to know whether it reaches anything.
    public static func filter(
        _ isIncluded: @escaping @Sendable (LocalNotification) -> Bool
    ) -> ObservationOptions {
        var options = ObservationOptions()
        options.filters = [isIncluded]
        return options
    }

    /// Gets only the messages of a type that a closure accepts. See ``filter(_:)``.
    ///
    /// ```swift
    /// let token = center.observe(OrderPaid.self, options: .filter(OrderPaid.self) { $0.amount > 100 }) { print($0.order) }
    /// ```
    public static func filter<Message: Sendable>(
        _ type: Message.Type, _ isIncluded: @escaping @Sendable (Message) -> Bool
    ) -> ObservationOptions {
        filter { notification in (notification.payload as? Message).map(isIncluded) ?? false }
    }
}

extension ObservationOptions: ExpressibleByArrayLiteral {
    /// All of these together. Of two that say the same thing differently, the last holds.
    public init(arrayLiteral elements: ObservationOptions...) {
        for element in elements {
            statedPriority = element.statedPriority ?? statedPriority
            if let key = element.key { self.key = key }
            isOnce = isOnce || element.isOnce
            retainedLimit = min(retainedLimit, element.retainedLimit)
            if let rateLimit = element.rateLimit { self.rateLimit = rateLimit }
            filters += element.filters
        }
    }
}
