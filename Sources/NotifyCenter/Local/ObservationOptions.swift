/// How somebody observes: `.once`, or several things together: `[.key("progress"), .priority(1)]`.
public struct ObservationOptions: Sendable {
    private var statedPriority: Int32?
    var key: String?
    var isOnce = false
    var wantsRetained = true
    var pacing: Pacing?

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
    /// earlier, unless that runs elsewhere or at a pace, and neither to cancel the earlier nor to remove all that the owner
    /// has prevents that call. What waits for the earlier is dropped.
    ///
    /// Observations without owner share their keys in all of the center, so that such a key should say whose it is:
    /// `"com.example.feed.progress"`.
    public static func key(_ key: String) -> ObservationOptions {
        var options = ObservationOptions()
        options.key = key
        return options
    }

    /// Does not get the last retained notification as it begins.
    public static var withoutRetained: ObservationOptions {
        var options = ObservationOptions()
        options.wantsRetained = false
        return options
    }
}

extension ObservationOptions: ExpressibleByArrayLiteral {
    /// All of these together. Of two that say the same thing differently, the last holds.
    public init(arrayLiteral elements: ObservationOptions...) {
        for element in elements {
            statedPriority = element.statedPriority ?? statedPriority
            if let key = element.key { self.key = key }
            isOnce = isOnce || element.isOnce
            wantsRetained = wantsRetained && element.wantsRetained
            if let pacing = element.pacing { self.pacing = pacing }
        }
    }
}
