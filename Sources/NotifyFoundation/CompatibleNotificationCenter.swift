import Foundation
public import NotifyCenter

/// Foundation's `NotificationCenter` on top of a `LocalCenter`, with the same API and documented behaviour.
///
/// To switch a module to this center, declare a type alias in one of its files, without `public`:
///
/// ```swift
/// typealias NotificationCenter = CompatibleNotificationCenter
/// ```
///
/// Observers are called in the order in which they were added, including observers of every name and every object. A
/// post skips observers that are added after it began or removed before it reaches them. No lock is held while
/// observers run, so they may call the center.
///
/// Names are compared as strings: canonically equivalent names are equal. The underlying center uses the precomposed
/// form.
///
/// All members may be called on any thread. Posts also reach the observers of the underlying center, and posts to the
/// underlying center reach the observers of this center; see ``init(center:)``.
public final class CompatibleNotificationCenter: Sendable {
    /// The underlying center.
    public let center: LocalCenter

    /// The center of the program, over `LocalCenter.default`.
    ///
    /// This center also delivers the notifications that Foundation itself posts, such as
    /// `UserDefaults.didChangeNotification`. It does not deliver other posts to Foundation's default center, and its
    /// own posts do not reach Foundation's default center.
    public static let `default`: CompatibleNotificationCenter = {
        let center = CompatibleNotificationCenter(center: .default)
        FoundationForwarding.forward(to: center)
        return center
    }()

    /// Creates a center without observers.
    public convenience init() {
        self.init(center: LocalCenter())
    }

    /// Creates a center on top of an existing one. Several centers may share one underlying center.
    ///
    /// Observers of the underlying center receive a `Notification` as a `LocalNotification` of the same name. Its
    /// object is the posted instance, string or value (see ``addObserver(forName:object:queue:using:)``), and its
    /// payload is a ``PostedNotification``. Observers of this center receive a post to the underlying center as a
    /// `Notification` whose `userInfo` contains the payload under ``payloadKey``.
    public init(center: LocalCenter) {
        self.center = center
    }

    /// The key in `userInfo` of the payload of notifications posted to the underlying center.
    public static let payloadKey = "payload"
}

extension CompatibleNotificationCenter: Equatable {
    /// Whether both are the same center.
    public static func == (left: CompatibleNotificationCenter, right: CompatibleNotificationCenter) -> Bool {
        left === right
    }
}

extension CompatibleNotificationCenter: CustomStringConvertible {
    /// The type and the address of the center.
    public var description: String {
        "<CompatibleNotificationCenter 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))>"
    }
}
