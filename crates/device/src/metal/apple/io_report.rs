//! How are the system's energy and residency counters read?
//!
//! `libIOReport` is private, so it is looked for when it is asked for: without it there is a reason and no figure.

use crate::metal::power::{Channel, ENERGY_GROUP, GPU_STATES, Value};
use objc2_core_foundation::{CFArray, CFDictionary, CFMutableDictionary, CFRetained, CFString, CFType};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null, null_mut};

type Dictionary = *const CFDictionary;
type Text = *const CFString;

unsafe extern "C" {
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Resolve everything now.
const RTLD_NOW: c_int = 2;

/// The functions that are used.
struct Functions {
    channels_in_group: unsafe extern "C" fn(Text, Text, u64, u64, u64) -> *mut CFMutableDictionary,
    merge: unsafe extern "C" fn(Dictionary, Dictionary, *const c_void),
    subscribe: unsafe extern "C" fn(
        *const c_void,
        *mut CFMutableDictionary,
        *mut *mut CFMutableDictionary,
        u64,
        *const c_void,
    ) -> *const c_void,
    samples: unsafe extern "C" fn(*const c_void, *mut CFMutableDictionary, *const c_void) -> *mut CFDictionary,
    group: unsafe extern "C" fn(Dictionary) -> Text,
    subgroup: unsafe extern "C" fn(Dictionary) -> Text,
    name: unsafe extern "C" fn(Dictionary) -> Text,
    unit: unsafe extern "C" fn(Dictionary) -> Text,
    integer: unsafe extern "C" fn(Dictionary, c_int) -> i64,
    state_count: unsafe extern "C" fn(Dictionary) -> c_int,
    state_name: unsafe extern "C" fn(Dictionary, c_int) -> Text,
    state_residency: unsafe extern "C" fn(Dictionary, c_int) -> i64,
}

/// A subscription to the energy channels and the GPU's performance states.
pub struct Subscription {
    functions: Functions,
    subscription: NonNull<c_void>,
    channels: CFRetained<CFMutableDictionary>,
}

/// One function of the library.
///
/// # Safety
/// `F` is the type of a pointer to the function of that name.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the library is open and the name ends with a zero byte.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("libIOReport has no {}", name.to_string_lossy()));
    }
    // SAFETY: as the caller promises; both have the size of a pointer.
    Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
}

impl Functions {
    fn load() -> Result<Functions, String> {
        // SAFETY: a path that ends with a zero byte; the library runs no code of ours.
        let library = unsafe { dlopen(c"/usr/lib/libIOReport.dylib".as_ptr(), RTLD_NOW) };
        if library.is_null() {
            return Err("libIOReport is not on this system, so energy cannot be read without an administrator".into());
        }
        // SAFETY: the signatures are those that macmon and others call; the library has kept them for years.
        unsafe {
            Ok(Functions {
                channels_in_group: function(library, c"IOReportCopyChannelsInGroup")?,
                merge: function(library, c"IOReportMergeChannels")?,
                subscribe: function(library, c"IOReportCreateSubscription")?,
                samples: function(library, c"IOReportCreateSamples")?,
                group: function(library, c"IOReportChannelGetGroup")?,
                subgroup: function(library, c"IOReportChannelGetSubGroup")?,
                name: function(library, c"IOReportChannelGetChannelName")?,
                unit: function(library, c"IOReportChannelGetUnitLabel")?,
                integer: function(library, c"IOReportSimpleGetIntegerValue")?,
                state_count: function(library, c"IOReportStateGetCount")?,
                state_name: function(library, c"IOReportStateGetNameForIndex")?,
                state_residency: function(library, c"IOReportStateGetResidency")?,
            })
        }
    }

    fn channels(&self, group: &str, subgroup: Option<&str>) -> Option<CFRetained<CFMutableDictionary>> {
        let group = CFString::from_str(group);
        let subgroup = subgroup.map(CFString::from_str);
        let subgroup = subgroup.as_ref().map_or(null(), |s| &**s as Text);
        // SAFETY: both texts live through the call; the dictionary that comes back is ours.
        let found = unsafe { (self.channels_in_group)(&*group, subgroup, 0, 0, 0) };
        // SAFETY: a function with Copy in its name gives a reference that the caller owns.
        NonNull::new(found).map(|found| unsafe { CFRetained::from_raw(found) })
    }
}

/// A text of the library; empty for none.
///
/// # Safety
/// `text` is null or points to a live CFString.
unsafe fn owned(text: Text) -> String {
    // SAFETY: as the caller promises.
    unsafe { text.as_ref() }.map_or(String::new(), ToString::to_string)
}

impl Subscription {
    /// Subscribes.
    ///
    /// # Errors
    /// What is missing.
    pub fn open() -> Result<Subscription, String> {
        let functions = Functions::load()?;
        let none = || format!("this system publishes no channels of group `{ENERGY_GROUP}`");
        let channels = functions.channels(ENERGY_GROUP, None).ok_or_else(none)?;
        if let Some(states) = functions.channels(GPU_STATES.0, Some(GPU_STATES.1)) {
            let (into, from): (Dictionary, Dictionary) = ((&raw const *channels).cast(), (&raw const *states).cast());
            // SAFETY: both are dictionaries of channels.
            unsafe { (functions.merge)(into, from, null()) };
        }
        let mut subscribed: *mut CFMutableDictionary = null_mut();
        let wanted = (&raw const *channels).cast_mut();
        // SAFETY: the dictionary of channels lives as long as the subscription.
        let subscription = unsafe { (functions.subscribe)(null(), wanted, &raw mut subscribed, 0, null()) };
        let subscription =
            NonNull::new(subscription.cast_mut()).ok_or("the system takes no subscription to its counters")?;
        Ok(Subscription { functions, subscription, channels })
    }

    /// Every channel now.
    ///
    /// # Errors
    /// That the system gives no sample.
    pub fn sample(&self) -> Result<Vec<Channel>, String> {
        let wanted = (&raw const *self.channels).cast_mut();
        // SAFETY: subscription and channels belong together and live.
        let sample = unsafe { (self.functions.samples)(self.subscription.as_ptr(), wanted, null()) };
        let sample = NonNull::new(sample).ok_or("the system gives no sample of its counters")?;
        // SAFETY: a function with Create in its name gives a reference that the caller owns.
        let sample = unsafe { CFRetained::from_raw(sample) };
        let key = CFString::from_static_str("IOReportChannels");
        // SAFETY: the dictionary's keys are texts; the value lives as long as the dictionary.
        let items = unsafe { sample.value((&raw const *key).cast()) }.cast::<CFArray>();
        // SAFETY: this key holds an array of dictionaries, or nothing.
        let items = unsafe { items.as_ref() }.ok_or("the sample holds no channels")?;
        let each = (0..items.count()).map(|i| {
            // SAFETY: the index is inside the array.
            let item: Dictionary = unsafe { items.value_at_index(i) }.cast();
            self.channel(item)
        });
        Ok(each.collect())
    }

    fn channel(&self, item: Dictionary) -> Channel {
        let f = &self.functions;
        // SAFETY: the item is a channel of a live sample.
        unsafe {
            let states = (f.state_count)(item);
            let value = if states > 0 {
                let state = |i| (owned((f.state_name)(item, i)), (f.state_residency)(item, i));
                Value::States((0..states).map(state).collect())
            } else {
                Value::Count((f.integer)(item, 0))
            };
            Channel {
                group: owned((f.group)(item)),
                subgroup: owned((f.subgroup)(item)),
                name: owned((f.name)(item)),
                unit: owned((f.unit)(item)),
                value,
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // SAFETY: the subscription is an object of Core Foundation that this value owns.
        drop(unsafe { CFRetained::from_raw(self.subscription.cast::<CFType>()) });
    }
}
